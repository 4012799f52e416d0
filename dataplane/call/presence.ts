/** Whether a client still waits for its answer, and the work that ends when the client leaves. */

/** Work for a client: a pause before a repeat, an attempt, or the relay of a stream. */
export interface Work {
  /** The client has left, or the request has been refused: then with the error. Called at most once. */
  leave(why?: Error): void
}

/** idle: no work is running. busy: one piece of work is. over: the client has left, or the process is ending. */
export class Presence {
  #state: 'idle' | 'busy' | 'over' = 'idle'
  #work: Work | undefined

  get state(): 'idle' | 'busy' | 'over' {
    return this.#state
  }

  /** The work ends when the client leaves; at once if the client has already left. */
  begin(work: Work): void {
    if (this.#state === 'over') {
      work.leave()
      return
    }
    this.#state = 'busy'
    this.#work = work
  }

  /** The work has ended normally. */
  done(): void {
    this.#work = undefined
    if (this.#state === 'busy') this.#state = 'idle'
  }

  /**
   * Records that the client has left, or that the process ends the request; with an error if it refuses the request.
   */
  end(why?: Error): void {
    const work = this.#work
    this.#work = undefined
    this.#state = 'over'
    work?.leave(why)
  }
}
