/** Whether a client still waits for its answer, and the one thing under way for it that ends when it does not. */

/** What is done for a client: a pause before a repeat, an attempt, the relay of a stream. */
export interface Work {
  /** Nobody waits for it any more; called at most once. */
  leave(): void
}

/** idle: nothing is under way that would have to end. busy: one thing is. over: the client or the process has gone. */
export class Presence {
  #state: 'idle' | 'busy' | 'over' = 'idle'
  #work: Work | undefined

  get state(): 'idle' | 'busy' | 'over' {
    return this.#state
  }

  /** The work hears when it is over; at once, where it is already. */
  begin(work: Work): void {
    if (this.#state === 'over') {
      work.leave()
      return
    }
    this.#state = 'busy'
    this.#work = work
  }

  /** The work has ended by itself. */
  done(): void {
    this.#work = undefined
    if (this.#state === 'busy') this.#state = 'idle'
  }

  /** The client has left, or the process ends the request. */
  end(): void {
    const work = this.#work
    this.#work = undefined
    this.#state = 'over'
    work?.leave()
  }
}
