/** One short request to an upstream, on a separate connection, without effect on breakers, limits or counters. */

import { openAiChatDialect } from '../../apis/openai-chat/dialect.ts'
import { systemClock } from '../../base/clock.ts'
import { atOnce } from '../../base/steps.ts'
import type { UpstreamSettings } from '../../config/snapshot.ts'
import { readBounded } from '../../connection/bounded-body.ts'
import { openPool, transportTo } from '../../connection/client.ts'
import { failureOf } from '../../connection/connection-failures.ts'
import { askStatus } from '../../connection/status-question.ts'
import type { Section } from '../../schema/index.ts'
import { pairOf } from '../../translation/pair.ts'
import { masked } from '../../upstream/attempt/masking.ts'
import { faultOf } from '../../upstream/credentials/renewed-credential.ts'
import { settingsFetched, sourceOf } from '../../upstream/credentials/upstream-credential.ts'
import { signatureOf } from '../../upstream/encoding/pool-request.ts'
import { writingBody } from '../../upstream/encoding/written-out.ts'
import type { Environment } from '../../wire/credential-source.ts'
import type { ModelRequest } from '../../wire/inner-form.ts'
import type { Failure } from '../../wire/provider.ts'

export interface Step {
  readonly step: 'health' | 'endpoints' | 'credential' | 'revision' | 'completion'
  readonly ok: boolean
  readonly ms: number
  /** A step of the trial and its outcome. */
  readonly asked: string
  readonly status?: number
  readonly failure?: Failure
  readonly tokens?: number
  readonly promptTokens?: number
  /** The revision that the upstream reports. */
  readonly revision?: string
}

const PROBE_MS_MAX = 10_000
const ANSWER_BYTES_MAX = 1_048_576
const TOO_LARGE = 'the answer is larger than 1 MiB'

/** Sends what a probe would send; undefined if the upstream is not probed. */
export async function tryHealth(
  settings: UpstreamSettings,
  section: Section,
): Promise<Step | undefined> {
  const { healthPath, origin } = settings
  if (healthPath === undefined) return undefined
  const seconds = settings.section.health_check?.timeout_seconds
  const timeoutMs = Math.min((seconds ?? 2) * 1000, PROBE_MS_MAX)
  const asked = `GET ${origin}${healthPath}`
  const startedAt = performance.now()
  const step = (rest: Pick<Step, 'ok' | 'failure'>) =>
    ({ step: 'health', asked, ms: since(startedAt), ...rest }) as const
  try {
    const status = await askStatus(transportTo(settings, section), healthPath, timeoutMs)
    if (status === 200) return step({ ok: true })
    const failure = { class: 'server', message: 'It did not answer with 200.' } as const
    return step({ ok: false, failure })
  } catch (error) {
    return step({ ok: false, failure: broken(error, settings) })
  }
}

/** Fetches a credential as at the start of a gateway; undefined if requests carry the written one. */
export async function tryCredential(
  settings: UpstreamSettings,
  env: Environment,
): Promise<{ readonly step: Step; readonly settings: UpstreamSettings } | undefined> {
  const source = sourceOf(settings, env)
  if (source === undefined) return undefined
  const startedAt = performance.now()
  const step = (rest: Pick<Step, 'ok' | 'failure'>) =>
    ({ step: 'credential', asked: source.from, ms: since(startedAt), ...rest }) as const
  try {
    const fetched = await settingsFetched(settings, source)
    return { step: step({ ok: true }), settings: fetched }
  } catch (error) {
    const failure = masked({ class: 'credential', message: faultOf(error) }, settings)
    return { step: step({ ok: false, failure }), settings }
  }
}

export async function tryCompletion(
  request: ModelRequest,
  settings: UpstreamSettings,
  section: Section,
): Promise<Step> {
  const { provider, basePath, origin } = settings
  const pool = openPool(settings, section, 1)
  const startedAt = performance.now()
  let asked = `POST ${origin}${basePath}`
  const step = (rest: Omit<Step, 'step' | 'ms' | 'asked'>) =>
    ({ step: 'completion', asked, ms: since(startedAt), ...rest }) as const
  try {
    const pair = pairOf(openAiChatDialect, provider)
    if (pair === undefined) throw new Error(`${provider.name} serves no chat completions`)
    const encoded = atOnce(writingBody(pair.encode(request, settings, undefined)))
    asked += encoded.path.replace(/\?.*/, '')
    const { headers } = encoded
    const path = basePath + encoded.path
    const body = Buffer.from(encoded.body)
    const signature = signatureOf({ path, headers, body }, settings, systemClock)
    const answer = await pool.request({
      origin,
      path,
      method: 'POST',
      headers: { ...headers, ...settings.headers, ...signature, 'accept-encoding': 'identity' },
      body,
      signal: AbortSignal.timeout(settings.timeoutMs),
    })
    const bytes = await readBounded(answer.body, ANSWER_BYTES_MAX, TOO_LARGE)
    const { statusCode: status } = answer
    if (status >= 300) {
      const failure = masked(provider.classify(status, answer.headers, bytes), settings)
      return step({ ok: false, status, failure })
    }
    const decoded = pair.decode(bytes, request, { model: settings.model, id: 'trial' })
    if (decoded.kind === 'failure') {
      return step({ ok: false, status, failure: masked(decoded.failure, settings) })
    }
    const tokens = decoded.usage?.completionTokens
    const promptTokens = decoded.usage?.promptTokens
    return step({
      ok: true,
      status,
      ...(tokens === undefined ? {} : { tokens }),
      ...(promptTokens === undefined ? {} : { promptTokens }),
    })
  } catch (error) {
    return step({ ok: false, failure: broken(error, settings) })
  } finally {
    await pool.destroy()
  }
}

function broken(error: unknown, settings: UpstreamSettings): Failure {
  if (!(error instanceof Error)) return { class: 'reset', message: String(error) }
  if (error.name === 'TimeoutError')
    return { class: 'timeout', message: 'It sent no answer in time.' }
  return masked(failureOf(error), settings)
}

function since(startedAt: number): number {
  return Math.round(performance.now() - startedAt)
}
