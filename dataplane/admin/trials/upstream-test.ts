/** POST /upstreams/test of the admin API: whether upstreams are reachable, accept our credential and answer. */
import { chatReading } from '../../apis/openai-chat/reading.ts'
import { parseRequest } from '../../body/request.ts'
import type { UpstreamSettings } from '../../config/snapshot.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { ANY_MODEL } from '../../schema/constants.ts'
import { reached } from '../../upstream/endpoints/reach.ts'
import type { ChatRequest } from '../../wire/inner-form.ts'
import { tryEndpoints } from './endpoints-step.ts'
import { type RevisionStep, tryRevision } from './revision-step.ts'
import { type Step, tryCompletion, tryCredential, tryHealth } from './trial.ts'

/** Upstreams tested at a time, because there may be a thousand. */
const AT_ONCE = 8
/** Some reasoning models refuse a smaller limit. */
const MAX_TOKENS = 16

export interface UpstreamTest {
  readonly name: string
  readonly provider: string
  readonly endpoint: string
  readonly model: string
  readonly ok: boolean
  /** Why it is never called. */
  readonly disabled?: string
  readonly steps: readonly (Step | RevisionStep)[]
}

/** undefined if no upstream has the name; without a name all of them. */
export async function testUpstreams(
  name: string | undefined,
  gateway: Gateway,
): Promise<readonly UpstreamTest[] | undefined> {
  const { upstreams } = gateway.active.snapshot
  const chosen = [...upstreams.values()].filter((one) => name === undefined || one.name === name)
  if (chosen.length === 0) return undefined
  const tests: UpstreamTest[] = []
  for (let index = 0; index < chosen.length; index += AT_ONCE) {
    const batch = chosen.slice(index, index + AT_ONCE)
    tests.push(...(await Promise.all(batch.map((settings) => testOf(settings, gateway)))))
  }
  return tests
}

async function testOf(
  settings: UpstreamSettings,
  { active, env, embeddings }: Gateway,
): Promise<UpstreamTest> {
  const { name, provider, origin, basePath, model, disabled } = settings
  const facts = { name, provider: provider.name, endpoint: origin + basePath, model }
  if (disabled !== undefined) return { ...facts, ok: false, disabled, steps: [] }
  const { section } = active.snapshot
  const places = embeddings.upstream(name)?.state.endpoints
  const reachable = reached(settings, places)
  const health = await tryHealth(reachable, section)
  const endpoints = await tryEndpoints(settings, section, places?.addresses)
  const fetched = await tryCredential(reachable, env)
  const revision = await tryRevision(reachable, section)
  // An upstream that gets the model that clients name is asked for the first model that is known.
  const asked =
    model === ANY_MODEL ? settings.section.models?.find((one) => !one.includes('*')) : model
  const completion =
    fetched?.step.ok === false || asked === undefined
      ? undefined
      : await tryCompletion(aQuestion(asked), fetched?.settings ?? reachable, section)
  const steps = [health, endpoints, fetched?.step, revision, completion].filter(
    (step) => step !== undefined,
  )
  return { ...facts, ok: steps.every(({ ok }) => ok), steps }
}

/** The shortest request that a model answers. */
export function aQuestion(model: string): ChatRequest {
  const messages = [{ role: 'user', content: 'ping' }]
  const bytes = Buffer.from(JSON.stringify({ model, messages, max_tokens: MAX_TOKENS }))
  return parseRequest(bytes, chatReading, Math.floor(Date.now() / 1000))
}
