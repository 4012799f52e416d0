/** One request that waits for a place at full upstreams; the first upstream with a free place ends the wait. */
import type { Deadline } from '../../base/clock.ts'
import type { Account } from './account.ts'
import type { Place } from './place.ts'

/**
 * `granted`: the request has a place. `gave_up`: its time was up. `no_room`: too many requests
 * wait. `left`: the client disconnected. `changed`: no upstream accepts waiting requests any more.
 */
export type Parting = 'granted' | 'gave_up' | 'no_room' | 'left' | 'changed'

/** A queue with the request in it. */
export interface Line {
  drop(account: Account<Waiter>, waiter: Waiter): void
}

export class Waiter implements Deadline {
  seat = -1
  readonly due: number
  /** The limit of output tokens that the client has set. */
  readonly tokensMax: number
  readonly over: Promise<Parting>
  #resolve: (parting: Parting) => void = () => {}
  readonly #lines = new Map<Line, Account<Waiter>>()
  #grant: { readonly line: Line; readonly place: Place<Waiter> } | undefined
  #isOver = false

  constructor(due: number, tokensMax: number) {
    this.due = due
    this.tokensMax = tokensMax
    this.over = new Promise((resolve) => {
      this.#resolve = resolve
    })
  }

  get granted(): { readonly line: Line; readonly place: Place<Waiter> } | undefined {
    return this.#grant
  }

  entered(line: Line, account: Account<Waiter>): void {
    this.#lines.set(line, account)
  }

  /** One queue has dropped the request; with the last queue the wait ends. */
  dropped(line: Line, parting: Parting): void {
    this.#lines.delete(line)
    if (this.#lines.size === 0) this.leave(parting)
  }

  grant(line: Line, place: Place<Waiter>): void {
    this.#grant = { line, place }
    this.#lines.delete(line)
    this.leave('granted')
  }

  /** Leaves all queues, once. */
  leave(parting: Parting): void {
    if (this.#isOver) return
    this.#isOver = true
    for (const [line, account] of this.#lines) line.drop(account, this)
    this.#lines.clear()
    this.#resolve(parting)
  }

  expire(): void {
    this.leave('gave_up')
  }
}
