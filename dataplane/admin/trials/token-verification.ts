/** POST /tokens/verify of the admin API: how far the gateway's counts of prompts are from those of an upstream. */
import { chatReading } from '../../apis/openai-chat/reading.ts'
import { parseRequest } from '../../body/request.ts'
import type { UpstreamSettings } from '../../config/snapshot.ts'
import type { Gateway } from '../../gateway.ts'
import type { ChatRequest } from '../../inner-form.ts'
import { counterOf } from '../../tokens/exact/counters.ts'
import { askTokenCount } from './token-question.ts'
import { tryCompletion, tryCredential } from './trial.ts'

/** A count that is further off is reported as a failure. */
export const TOLERANCE = 0.005
const SAMPLES_MAX = 1_000
const SAMPLES = 16
/** Kinds of text that tokenizers cut differently. */
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

/** undefined where no upstream has the name. Samples that the upstream did not count are in `failures`. */
export async function verifyTokens(
  { name, sample }: { readonly name: string; readonly sample: string | undefined },
  gateway: Gateway,
) {
  const settings = gateway.active.snapshot.upstreams.get(name)
  if (settings === undefined) return undefined
  const asked = Math.min(SAMPLES_MAX, Math.max(1, Math.floor(Number(sample ?? SAMPLES)) || SAMPLES))
  const fetched = await tryCredential(settings, gateway.env)
  const compared: Compared[] = []
  const failures: string[] = []
  let isExact = true
  for (let index = 0; index < asked; index++) {
    const request = sampleOf(index, settings.model)
    const counted = await counterOf(settings).count(request)
    isExact &&= counted.exact
    const upstream = await countedBy(fetched?.settings ?? settings, request, gateway)
    if (typeof upstream === 'string') failures.push(upstream)
    else compared.push({ sample: index + 1, counted: counted.tokens, upstream })
    // One that does not answer once is not asked a thousand times.
    if (compared.length === 0 && failures.length >= 3) break
  }
  const drift = driftOf(compared)
  if (drift !== undefined) gateway.metrics.tokenizerDrift.at(name).value = drift
  const source = settings.provider.tokenQuestion === undefined ? 'usage' : 'tokenizer'
  const ok = drift !== undefined && drift <= TOLERANCE && failures.length === 0
  return {
    upstream: name,
    ok,
    exact: isExact,
    source,
    drift,
    tolerance: TOLERANCE,
    samples: compared,
    failures,
  }
}

/** The share by which all counts together are off. */
function driftOf(compared: readonly Compared[]): number | undefined {
  const sum = compared.reduce((all, { upstream }) => all + upstream, 0)
  const off = compared.reduce((all, { counted, upstream }) => all + Math.abs(counted - upstream), 0)
  return sum === 0 ? undefined : off / sum
}

/** The count of the upstream, or the reason that it is missing. */
async function countedBy(
  settings: UpstreamSettings,
  request: ChatRequest,
  { active }: Gateway,
): Promise<number | string> {
  const { section } = active.snapshot
  const { tokenQuestion } = settings.provider
  if (tokenQuestion !== undefined)
    return await askTokenCount(tokenQuestion, request.body.messages, settings, section)
  const { failure, promptTokens } = await tryCompletion(request, settings, section)
  if (failure !== undefined) return `${failure.class}: ${failure.message}`
  return promptTokens ?? 'its answer has no usage'
}

function sampleOf(index: number, model: string): ChatRequest {
  const text = `${TEXTS[index % TEXTS.length]} `.repeat(1 + Math.floor(index / TEXTS.length))
  const messages = [{ role: 'user', content: `${text.trim()} (${index + 1})` }]
  const bytes = Buffer.from(JSON.stringify({ model, messages, max_tokens: 1 }))
  return parseRequest(bytes, chatReading, Math.floor(Date.now() / 1000))
}
