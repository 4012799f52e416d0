/** POST /tokens/verify of the admin API: the drift between the gateway's counts of prompts and those of an upstream. */
import { setTimeout as delay } from 'node:timers/promises'
import { chatReading } from '../../apis/openai-chat/reading.ts'
import { parseRequest } from '../../body/request.ts'
import type { UpstreamSettings } from '../../config/snapshot.ts'
import { openPool } from '../../connection/client.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { type Counter, ESTIMATE, type PromptCount } from '../../tokens/counter.ts'
import { counterOf } from '../../tokens/exact/counters.ts'
import { UpstreamCounter } from '../../tokens/exact/upstream-counter.ts'
import { reached } from '../../upstream/endpoints/reach.ts'
import { RuntimeTokenizer } from '../../upstream/live/runtime-tokenizer.ts'
import type { ChatRequest } from '../../wire/inner-form.ts'
import { tryCompletion, tryCredential } from './trial.ts'

/** A larger drift is reported as a failure. */
export const TOLERANCE = 0.005
const SAMPLES_MAX = 1_000
const SAMPLES = 16
/** Kinds of text that tokenizers split differently. */
const TEXTS = [
  'The quick brown fox jumps over the lazy dog, twice a day and never on Sundays.',
  'Straßenbahnhaltestellen heißen auf Französisch anders: « arrêts de tramway ».',
  '東京の天気は晴れです。明日は雨が降るでしょう。',
  'const total = items.reduce((sum, { price }) => sum + price * 1.19, 0) // 19 %',
  '{"id": 4711, "tags": ["a", "b"], "nested": {"is": null}}',
  'Numbers: 3.14159, 1,000,000, 0x1F600, 2026-11-22T20:15:00Z. 🙂🚀',
] as const

interface Compared {
  readonly sample: number
  readonly counted: number
  readonly upstream: number
}

/** The drift above which budgets mislead. */
const DRIFT_WARNED = 0.01
const COUNT_MS_MAX = 10_000
/** How often a tokenizer that was too slow is tried again. */
const PATIENCE = 20
const PAUSE_MS = 100

/** undefined if no upstream has the name. Samples that the upstream did not count are in `failures`. */
export async function verifyTokens(
  { name, sample }: { readonly name: string; readonly sample: string | undefined },
  gateway: Gateway,
) {
  const settings = gateway.active.snapshot.upstreams.get(name)
  if (settings === undefined) return undefined
  const asked = Math.min(SAMPLES_MAX, Math.max(1, Math.floor(Number(sample ?? SAMPLES)) || SAMPLES))
  const places = gateway.embeddings.upstream(name)?.state.endpoints
  const pool = openPool(reached(settings, places), gateway.active.snapshot.section, 1)
  try {
    const tokenizer = new RuntimeTokenizer(pool, COUNT_MS_MAX)
    const { compared, failures, isExact, source, by } = await compare(
      settings,
      asked,
      tokenizer,
      gateway,
    )
    const drift = driftOf(compared)
    if (drift !== undefined) note(name, drift, gateway)
    const ok = drift !== undefined && drift <= TOLERANCE && failures.length === 0
    const facts = { upstream: name, ok, exact: isExact, by, source }
    return { ...facts, drift, tolerance: TOLERANCE, samples: compared, failures }
  } finally {
    await pool.destroy()
  }
}

async function compare(
  settings: UpstreamSettings,
  asked: number,
  tokenizer: RuntimeTokenizer,
  gateway: Gateway,
) {
  const runtime = () =>
    new UpstreamCounter((body) => tokenizer.count(body, settings), gateway.clock)
  const counter = counterOf(settings, runtime)
  // If the runtime counts for the gateway, its answers are compared with the usage.
  const isAsked =
    settings.provider.tokenQuestions !== undefined && !(counter instanceof UpstreamCounter)
  const fetched = isAsked ? undefined : await tryCredential(settings, gateway.env)
  const asking = fetched?.settings ?? settings
  const compared: Compared[] = []
  const failures: string[] = []
  let isExact = true
  for (let index = 0; index < asked; index++) {
    const request = sampleOf(index, settings.model)
    const counted = await patiently(counter, request)
    isExact &&= counted.exact
    const upstream = isAsked
      ? await tokenizer.count(request.body, settings)
      : await usageOf(asking, request, gateway)
    if (typeof upstream === 'string') failures.push(upstream)
    else compared.push({ sample: index + 1, counted: counted.tokens, upstream })
    // Stops if the upstream does not answer the first prompts.
    if (compared.length === 0 && failures.length >= 3) break
  }
  const source = isAsked ? 'tokenizer' : 'usage'
  return { compared, failures, isExact, source, by: counter.by }
}

/** No client waits for this count, so the tokenizer has time to load. */
async function patiently(counter: Counter, request: ChatRequest): Promise<PromptCount> {
  let counted = await counter.count(request)
  for (let again = 0; again < PATIENCE && !counted.exact; again++) {
    if (counter === ESTIMATE || counter.whyEstimated !== undefined) break
    await delay(PAUSE_MS)
    counted = await counter.count(request)
  }
  return counted
}

function note(upstream: string, drift: number, { metrics, log }: Gateway): void {
  metrics.tokenizerDrift.at(upstream).value = drift
  if (drift <= DRIFT_WARNED) return
  const share = `${(100 * drift).toFixed(1)} %`
  const message = `Counts of prompts for upstream "${upstream}" are ${share} off: its budgets mislead.`
  log.event('warn', 'tokenizer_drift', message, { upstream, drift })
}

/** The drift of all counts together. */
function driftOf(compared: readonly Compared[]): number | undefined {
  const sum = compared.reduce((all, { upstream }) => all + upstream, 0)
  const off = compared.reduce((all, { counted, upstream }) => all + Math.abs(counted - upstream), 0)
  return sum === 0 ? undefined : off / sum
}

/** The count of the upstream, or the reason that it is missing. */
async function usageOf(
  settings: UpstreamSettings,
  request: ChatRequest,
  { active }: Gateway,
): Promise<number | string> {
  const { failure, promptTokens } = await tryCompletion(request, settings, active.snapshot.section)
  if (failure !== undefined) return `${failure.class}: ${failure.message}`
  return promptTokens ?? 'its answer has no usage'
}

function sampleOf(index: number, model: string): ChatRequest {
  const text = `${TEXTS[index % TEXTS.length]} `.repeat(1 + Math.floor(index / TEXTS.length))
  const messages = [{ role: 'user', content: `${text.trim()} (${index + 1})` }]
  const bytes = Buffer.from(JSON.stringify({ model, messages, max_tokens: 1 }))
  return parseRequest(bytes, chatReading, Math.floor(Date.now() / 1000))
}
