/** Counts prompts with the runtime's own tokenizer, and estimates them if it does not answer. */
import type { Clock } from '../../base/clock.ts'
import { Breaker } from '../../connection/breaker.ts'
import type { ChatBody, ModelRequest } from '../../wire/inner-form.ts'
import { type Counter, ESTIMATE, type PromptCount } from '../counter.ts'
import { COUNTED_BYTES_MAX } from './counters.ts'

const BREAKER = { failureThreshold: 5, openDurationMs: 5_000, halfOpenProbes: 1 }
/** Questions in progress; further prompts are estimated at once. */
const ASKED_AT_ONCE = 64

/** The count, or the reason why it is missing. */
export type Ask = (body: ChatBody) => Promise<number | string>

export class UpstreamCounter implements Counter {
  readonly by = 'upstream'
  readonly #ask: Ask
  readonly #clock: Pick<Clock, 'now'>
  readonly #breaker = new Breaker(BREAKER)
  #asked = 0
  /** Why the last question got no answer; undefined if it got one. */
  whyEstimated: string | undefined

  constructor(ask: Ask, clock: Pick<Clock, 'now'>) {
    this.#ask = ask
    this.#clock = clock
  }

  count(request: ModelRequest): PromptCount | Promise<PromptCount> {
    if (request.operation !== 'chat' || request.bytes.length > COUNTED_BYTES_MAX)
      return ESTIMATE.count(request)
    const permit = this.#asked < ASKED_AT_ONCE ? this.#breaker.permit(this.#clock.now()) : undefined
    if (permit === undefined) return ESTIMATE.count(request)
    this.#asked++
    return this.#ask(request.body)
      .catch((error: unknown) => String(error))
      .then((answer) => {
        this.#asked--
        const isCounted = typeof answer === 'number'
        this.#breaker[isCounted ? 'success' : 'failure'](permit, this.#clock.now())
        this.whyEstimated = isCounted ? undefined : answer
        return isCounted ? { tokens: answer, exact: true } : ESTIMATE.count(request)
      })
  }
}
