/** Calls of scripts, repeated where one says what it misses: another moment, more windows, or what the store has lost. */

import type { Clock } from '../../base/clock.ts'
import { Present } from '../../budgets/windows.ts'
import { type Link, type Script, StoreAway } from './link.ts'
import type { Account, Share } from './redis-accounts.ts'
import { checkedReply } from './redis-replies.ts'
import { HEAL } from './scripts/heal.ts'

/**
 * A call that a frozen server gets to after so long does nothing: its caller has given up, and a slot taken for nobody
 * would stay until its lease expires.
 */
export const LATE_MS = 2_000

const WRONG_CLOCK = -1
const WINDOWS_MISSING = -2
const LOST = -3

/** At midnight and after a flush two; more means that the clocks do not agree. */
const TRIES_MAX = 5

/** Asked anew for each try: the moment may be another one by then. */
export interface Call {
  readonly script: Script
  readonly account: Account
  readonly isBounded: boolean
  shares(present: Present): readonly Share[]
  args(present: Present): readonly (string | number)[]
}

export interface CallsOptions {
  /** Of this process: no other has it, nor had. */
  readonly replica: string
  readonly clock: Clock
  /** Time for the scripts in milliseconds since the epoch, where it is not to be the server's. */
  readonly storeTime?: (() => number) | undefined
}

export class Calls {
  /** Told when a window had lost what this process wrote: others may have as well. */
  onLost: () => void = () => undefined
  readonly #link: Link
  readonly #field: string
  readonly #clock: Clock
  readonly #storeTime: (() => number) | undefined
  readonly #present: Present
  /** From this process's clock to the store's. */
  #offset: number

  constructor(link: Link, { replica, clock, storeTime }: CallsOptions) {
    this.#link = link
    this.#field = `r:${replica}`
    this.#clock = clock
    this.#storeTime = storeTime
    this.#offset = clock.wall() - clock.now()
    this.#present = new Present(clock.wall())
  }

  /** The store's time as far as it is known. */
  get storeNow(): number {
    return this.#storeTime?.() ?? Math.floor(this.#clock.now() + this.#offset)
  }

  /** The windows of the store's present, as far as it is known. */
  get present(): Present {
    this.#present.moveTo(this.storeNow)
    return this.#present
  }

  async run(call: Call): Promise<readonly number[]> {
    const more: Share[] = []
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const { present } = this
      const shares = [...call.shares(present), ...more]
      const until = call.isBounded ? this.storeNow + LATE_MS : 0
      const reply = await this.#send(call, { shares, until, args: call.args(present) })
      if (reply[0] === WRONG_CLOCK) continue
      if (reply[0] === WINDOWS_MISSING) {
        for (const name of reply.slice(2)) more.push(call.account.shareNamed(String(name)))
      } else if (reply[0] === LOST) {
        this.onLost()
        await this.heal(call.account)
      } else {
        // Only the reply that misses windows has words in it.
        return reply as readonly number[]
      }
    }
    throw new StoreAway('other', false)
  }

  /** Tells the store all that this process knows of a tenant's windows; once for many that ask. */
  heal(account: Account): Promise<void> {
    account.healing ??= this.#heal(account).finally(() => {
      account.healing = undefined
    })
    return account.healing
  }

  async #heal(account: Account): Promise<void> {
    const shares = account.shares.filter(({ isKnown }) => isKnown)
    if (shares.length === 0) return
    const now = this.#clock.now()
    const args = shares.flatMap((share) => share.remembered(now))
    const reply = await this.#send({ script: HEAL, account }, { shares, until: 0, args })
    // This script always answers with numbers.
    const numbers = reply as readonly number[]
    for (const [index, share] of shares.entries()) share.hear(numbers, 2 + 4 * index, now, true)
  }

  async #send(
    { script, account }: Pick<Call, 'script' | 'account'>,
    { shares, until, args }: Sent,
  ): Promise<readonly (number | string)[]> {
    const keys = [...account.keys]
    const names = []
    for (const { key, name } of shares) {
      keys.push(key)
      names.push(name)
    }
    const now = this.#storeTime?.() ?? 0
    const all = [now, until, this.#field, names.length, ...names, ...args]
    const reply = checkedReply(await this.#link.run(script, keys, all))
    this.#offset = Number(reply[1]) - this.#clock.now()
    return reply
  }
}

interface Sent {
  readonly shares: readonly Share[]
  /** The store's time after which it is too late; 0: never. */
  readonly until: number
  readonly args: readonly (string | number)[]
}
