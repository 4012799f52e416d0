/**
 * One call to an upstream other than requests to its model: one exchange without attempts, bounded in time and length.
 */
import { type Clock, timerMs } from '../../base/clock.ts'
import { GatewayError } from '../../base/errors.ts'
import type { Presence } from '../../call/presence.ts'
import { readBounded } from '../../connection/bounded-body.ts'
import { failureOf } from '../../connection/connection-failures.ts'
import type { Failure, Headers, ProviderSettings } from '../../wire/provider.ts'
import { masked } from '../attempt/masking.ts'
import { fetchEnded } from '../credentials/upstream-credential.ts'
import type { Target } from '../live/targets.ts'

export interface SideQuestion {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** Path below the base path. */
  readonly path: string
  readonly headers: Headers
  readonly body?: Buffer | string
}

export type SideAnswer =
  | { readonly kind: 'answer'; readonly body: Buffer }
  | { readonly kind: 'failure'; readonly failure: Failure }

interface QuestionAsker {
  readonly clock: Clock
  readonly presence: Presence
  /** Monotonic time at which the answer is no longer awaited. */
  readonly dueAt: number
}

const QUESTION_MS_MAX = 30_000
const ANSWER_BYTES_MAX = 33_554_432
const TOO_LARGE = 'the answer is larger than 32 MiB'

/** Throws if the upstream is not eligible now, or the client has left. */
export async function askBeside(
  target: Target,
  questionOf: (settings: ProviderSettings) => SideQuestion | Promise<SideQuestion>,
  { clock, presence, dueAt }: QuestionAsker,
): Promise<SideAnswer> {
  const { state, settings: written } = target
  const msMax = Math.min(written.timeoutMs, QUESTION_MS_MAX)
  const msLeft = () => timerMs(Math.min(msMax, dueAt - clock.now()))
  const fetching = state.credential.renewed?.pending()
  if (fetching !== undefined) await fetchEnded(fetching, msLeft(), presence)
  const out = state.outBecause(clock.now())
  if (out !== undefined)
    throw new GatewayError(
      'ERR_GW_NO_HEALTHY_UPSTREAM',
      `Upstream "${target.name}" cannot be called now: ${out}.`,
      { retryAfterSeconds: 1 },
    )
  const settings = target.settingsNow ?? written
  const { method, path, headers, body } = await questionOf(settings)
  if (presence.state === 'over') throw left()
  const leaving = new AbortController()
  presence.begin({ leave: () => leaving.abort() })
  try {
    const answer = await state.questions.request({
      method,
      path: settings.basePath + path,
      headers: { ...headers, ...settings.headers, 'accept-encoding': 'identity' },
      ...(body !== undefined && { body }),
      signal: AbortSignal.any([AbortSignal.timeout(msLeft()), leaving.signal]),
    })
    const bytes = await readBounded(answer.body, ANSWER_BYTES_MAX, TOO_LARGE)
    if (answer.statusCode >= 200 && answer.statusCode < 300) return { kind: 'answer', body: bytes }
    const failure = settings.provider.classify(answer.statusCode, answer.headers, bytes)
    return { kind: 'failure', failure: masked(failure, settings) }
  } catch (error) {
    if (leaving.signal.aborted) throw left()
    return { kind: 'failure', failure: masked(brokenOf(error), settings) }
  } finally {
    presence.done()
  }
}

function brokenOf(error: unknown): Failure {
  if (!(error instanceof Error)) return { class: 'reset', message: String(error) }
  if (error.name !== 'TimeoutError') return failureOf(error)
  return {
    class: 'timeout',
    message: 'It sent no answer in time.',
    shown: 'did not answer in time',
  }
}

function left(): GatewayError {
  return new GatewayError('ERR_GW_STREAM_ABORTED', 'The client left.')
}
