/** One request that waits for an upstream. */

/** `reached`: the request may continue. `gave_up`: its time was up. `left`: the client disconnected. */
export type Parting = 'reached' | 'gave_up' | 'left'

export class Waiter {
  readonly over: Promise<Parting>
  readonly mayGo: () => boolean
  readonly #onLeave: () => void
  #resolve: (parting: Parting) => void = () => {}
  #hasLeft = false

  constructor(mayGo: () => boolean, onLeave: () => void) {
    this.mayGo = mayGo
    this.#onLeave = onLeave
    this.over = new Promise((resolve) => {
      this.#resolve = resolve
    })
  }

  /** Frees the request's place, once. */
  leave(parting: Parting): void {
    if (this.#hasLeft) return
    this.#hasLeft = true
    this.#onLeave()
    this.#resolve(parting)
  }
}
