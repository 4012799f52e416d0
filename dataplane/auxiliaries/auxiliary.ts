/** One service beside the models: bounded in time, counted, and refused at once while it keeps failing. */
import { type Clock, timerMs } from '../base/clock.ts'
import { Breaker } from '../connection/breaker.ts'
import type { Metrics } from '../telemetry/metrics.ts'

export interface AuxiliaryWorld {
  readonly clock: Clock
  readonly metrics: Pick<Metrics, 'auxiliaryRequests' | 'auxiliarySeconds'>
}

/** As metrics name it. */
export interface AuxiliaryName {
  readonly kind: 'guardrail' | 'embedding' | 'vector_store'
  readonly name: string
}

/** The bounds of one question. */
export interface Asking {
  readonly timeoutMs: number
  /** Aborted when the client leaves; that does not count against the service. */
  readonly signal?: AbortSignal | undefined
}

/** Outcomes, as metrics name them: those of answers, and those without one. */
const VERDICTS = ['pass', 'mask', 'block']
const FAILURES = ['timeout', 'error', 'open', 'left']

const BREAKER = { failureThreshold: 5, openDurationMs: 5_000, halfOpenProbes: 1 }

/** Why it sent no answer; `message` is for the log and the trace. */
export class AuxiliaryError extends Error {
  readonly outcome: 'timeout' | 'error' | 'open' | 'left'

  constructor(outcome: AuxiliaryError['outcome'], message: string) {
    super(message)
    this.outcome = outcome
  }
}

export class Auxiliary {
  readonly #name: AuxiliaryName
  readonly #world: AuxiliaryWorld
  readonly breaker = new Breaker(BREAKER)
  /** Why its last question failed. */
  failedLast: string | undefined

  constructor(name: AuxiliaryName, world: AuxiliaryWorld) {
    this.#name = name
    this.#world = world
    const { auxiliaryRequests } = world.metrics
    const outcomes = name.kind === 'guardrail' ? VERDICTS : ['ok']
    for (const outcome of [...outcomes, ...FAILURES])
      auxiliaryRequests.at(name.kind, name.name, outcome)
  }

  /** Runs the question and stops waiting when its signal aborts. Throws AuxiliaryError. */
  async ask<T>(
    question: (signal: AbortSignal) => Promise<T>,
    { timeoutMs: mostMs, signal: client }: Asking,
  ): Promise<T> {
    const { clock, metrics } = this.#world
    const timeoutMs = timerMs(mostMs)
    const permit = this.breaker.permit(clock.now())
    if (permit === undefined)
      throw this.#failed('open', 'it keeps failing, and will be tried again soon')
    const began = clock.now()
    const timeUp = AbortSignal.timeout(timeoutMs)
    const signal = client === undefined ? timeUp : AbortSignal.any([timeUp, client])
    try {
      const answer = await unlessAborted(question, signal)
      this.breaker.success(permit, clock.now())
      return answer
    } catch (error) {
      if (client?.aborted) {
        this.breaker.neutral(permit)
        throw this.#failed('left', 'the client left')
      }
      this.breaker.failure(permit, clock.now())
      const isLate = timeUp.aborted
      const message = isLate ? `it did not answer within ${timeoutMs} ms` : (error as Error).message
      this.failedLast = message
      const outcome = error instanceof AuxiliaryError ? error.outcome : 'error'
      throw this.#failed(isLate ? 'timeout' : outcome, message)
    } finally {
      const { kind, name } = this.#name
      metrics.auxiliarySeconds.at(kind, name).observe((clock.now() - began) / 1000)
    }
  }

  count(outcome: string): void {
    const { kind, name } = this.#name
    this.#world.metrics.auxiliaryRequests.at(kind, name, outcome).value++
  }

  #failed(outcome: AuxiliaryError['outcome'], message: string): AuxiliaryError {
    this.count(outcome)
    return new AuxiliaryError(outcome, message)
  }
}

/** Some client libraries cannot stop a question. */
async function unlessAborted<T>(
  question: (signal: AbortSignal) => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  signal.throwIfAborted()
  const { promise, reject } = Promise.withResolvers<never>()
  const onAbort = () => reject(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    return await Promise.race([question(signal), promise])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}
