/** Calls scripts, and repeats a call if its reply asks for it: for another time, for more windows, or for lost data. */

import { Present } from '../../accounts/windows.ts'
import type { Clock } from '../../base/clock.ts'
import { type Link, type Script, StoreAway } from './link.ts'
import { type Account, type AccountWindow, FIGURES } from './redis-accounts.ts'
import { checkedReply } from './redis-replies.ts'
import { HEAL } from './scripts/heal.ts'

/**
 * A call that a frozen server runs after this time does nothing, because the caller has given up: a slot without a
 * request would stay until its lease expires.
 */
export const LATE_MS = 2_000

const WRONG_CLOCK = -1
const WINDOWS_MISSING = -2
const LOST = -3

/** Two tries are usual at midnight and after a flush; more mean that the clocks differ. */
const TRIES_MAX = 5

/** Most bytes of keys and arguments. A server may not know the script, and a call with its text has less than 64 KiB. */
const CALL_BYTES = 40 * 1024

/** Windows and arguments are computed again for each try, because the time may differ. */
export interface RedisCall {
  readonly script: Script
  readonly account: Account
  readonly isBounded: boolean
  windows(present: Present): readonly AccountWindow[]
  args(present: Present): readonly (string | number)[]
}

/** One script over several accounts; the first arguments are the call's, then come those of each account. */
export interface SharedCall {
  readonly script: Script
  readonly own: readonly (string | number)[]
  readonly parts: readonly CallPart[]
}

/** The part of one account. */
export interface CallPart extends Pick<RedisCall, 'account' | 'windows' | 'args'> {
  /** Numbers that the script reads for this account. */
  readonly facts: readonly number[]
}

export interface CallsOptions {
  /** Names this process: no other process has the name, nor had it. */
  readonly replica: string
  readonly clock: Clock
}

export class Calls {
  /** Called if a window lost data of this process; other windows may have lost data, too. */
  onLost: () => void = () => undefined
  readonly #link: Link
  readonly #replica: string
  readonly #field: string
  readonly #clock: Clock
  readonly #present: Present
  /** Difference between the clock of the store and that of this process. */
  #offset: number

  constructor(link: Link, { replica, clock }: CallsOptions) {
    this.#link = link
    this.#replica = replica
    this.#field = `r:${replica}`
    this.#clock = clock
    this.#offset = clock.wall() - clock.now()
    this.#present = new Present(clock.wall())
  }

  /** The store's time, as last known. */
  get storeNow(): number {
    return Math.floor(this.#clock.now() + this.#offset)
  }

  /** The present windows by the store's time, as last known. */
  get present(): Present {
    this.#present.moveTo(this.storeNow)
    return this.#present
  }

  async run(call: RedisCall): Promise<readonly number[]> {
    const missing: AccountWindow[] = []
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const { present } = this
      const windows = [...call.windows(present), ...missing]
      const until = call.isBounded ? this.storeNow + LATE_MS : 0
      const reply = await this.#send(call, { windows, until, args: call.args(present) })
      if (reply[0] === WRONG_CLOCK) continue
      if (reply[0] === WINDOWS_MISSING) {
        for (const name of reply.slice(2)) missing.push(call.account.windowNamed(String(name)))
      } else if (reply[0] === LOST) {
        await this.restore([call.account])
      } else {
        // Only a reply that asks for windows contains texts.
        return reply as readonly number[]
      }
    }
    throw new StoreAway('other', false)
  }

  /** The same over several accounts: the reply has a list of numbers for each. */
  async runOverAll({ script, own, parts }: SharedCall): Promise<readonly unknown[]> {
    const missing = parts.map((): AccountWindow[] => [])
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const { present } = this
      const keys: string[] = []
      const args: (string | number)[] = [...own, parts.length]
      for (const [index, part] of parts.entries()) {
        const windows = [...part.windows(present), ...(missing[index] ?? [])]
        const until = this.storeNow + LATE_MS
        const sent = this.#alone(part.account, { windows, until, args: part.args(present) })
        keys.push(...sent.keys)
        args.push(sent.keys.length, sent.args.length, ...part.facts, ...sent.args)
      }
      const reply = await this.#ask(script, keys, args)
      const at = Number(reply[2]) - 1
      if (reply[0] === WRONG_CLOCK) continue
      if (reply[0] === WINDOWS_MISSING) {
        for (const name of reply.slice(3)) {
          const window = parts[at]?.account.windowNamed(String(name))
          if (window !== undefined) missing[at]?.push(window)
        }
      } else if (reply[0] === LOST) {
        await this.restore(parts.map(({ account }) => account))
      } else return reply
    }
    throw new StoreAway('other', false)
  }

  /**
   * One script that takes each account by itself: the replies on each, which the caller looks at. Several calls if they are
   * too large for one; if one fails, all count as failed.
   */
  async runTogether(
    script: Script,
    parts: readonly Omit<CallPart, 'facts'>[],
  ): Promise<readonly (readonly (number | string)[])[]> {
    const { present } = this
    const until = this.storeNow + LATE_MS
    const calls: Together[] = []
    let room = 0
    for (const { account, windows, args: own } of parts) {
      const sent = this.#alone(account, { windows: windows(present), until, args: own(present) })
      const args = [sent.keys.length, sent.args.length, ...sent.args]
      const bytes = bytesOf(sent.keys) + bytesOf(args)
      if (bytes > room) {
        calls.push({ count: 0, keys: [], args: [] })
        room = CALL_BYTES
      }
      room -= bytes
      const call = calls[calls.length - 1] as Together
      call.count++
      call.keys.push(...sent.keys)
      call.args.push(...args)
    }
    const replies = await Promise.all(
      calls.map(({ count, keys, args }) => this.#ask(script, keys, [count, ...args])),
    )
    return replies.flatMap(([, , ...each]) => (each as readonly unknown[]).map(checkedReply))
  }

  /** The store has lost data of the accounts, and what it had set aside of them. */
  async restore(accounts: readonly Account[]): Promise<void> {
    this.onLost()
    for (const { poured } of accounts) poured.slice?.forfeit()
    await Promise.all(accounts.map((account) => this.heal(account)))
  }

  /** Restores this process's data of a tenant's windows in the store; concurrent callers share one call. */
  heal(account: Account): Promise<void> {
    account.healing ??= this.#heal(account).finally(() => {
      account.healing = undefined
    })
    return account.healing
  }

  /** Reads windows before adding to them. */
  async meet(account: Account, windows: readonly AccountWindow[]): Promise<void> {
    await this.heal(account)
    // A repair that was running may have begun without these windows.
    if (!windows.every(({ isMet }) => isMet)) await this.heal(account)
  }

  async #heal(account: Account): Promise<void> {
    const windows = account.windows.filter(({ isKnown }) => isKnown)
    if (windows.length === 0) return
    // Replies from before the loss may have come together with the one that shows it, and count as poured.
    await new Promise(setImmediate)
    const now = this.#clock.now()
    const { day, month } = account.windowsAt(this.present)
    const args = [
      ...windows.flatMap((window) => window.remembered(now, account.confirmedIn(window, now))),
      ...[sliceId(this.#replica, day.name), day.name, month.name],
      ...account.poured.remembered(now),
    ]
    const births = windows.map((window) => window.born)
    const reply = await this.#send({ script: HEAL, account }, { windows, until: 0, args })
    // This script always answers with numbers.
    const numbers = reply as readonly number[]
    for (const [index, window] of windows.entries())
      window.hear(numbers, 2 + FIGURES * index, now, true)
    const isReborn = windows.some(
      ({ born }, index) => (births[index] ?? 0) > 0 && born !== births[index],
    )
    if (isReborn) account.poured.slice?.forfeit()
  }

  #send(
    { script, account }: Pick<RedisCall, 'script' | 'account'>,
    sent: SentCall,
  ): Promise<readonly (number | string)[]> {
    const { keys, args } = this.#alone(account, sent)
    return this.#ask(script, keys, args)
  }

  /** The keys and arguments of a call on one account. */
  #alone(account: Account, { windows, until, args }: SentCall) {
    const keys = [...account.keys]
    const names = []
    for (const { key, name } of windows) {
      keys.push(key)
      names.push(name)
    }
    return { keys, args: [until, this.#field, names.length, ...names, ...args] }
  }

  async #ask(
    script: Script,
    keys: readonly string[],
    args: readonly (string | number)[],
  ): Promise<readonly (number | string)[]> {
    const sentAt = this.#clock.now()
    const reply = checkedReply(await this.#link.run(script, keys, args))
    this.#setClock(Number(reply[1]), sentAt, reply[0] === WRONG_CLOCK)
    return reply
  }

  /** A reply that this process reads late, because it paused, must not put its clock back: a time in doubt is left as it is. */
  #setClock(storeTime: number, sentAt: number, isWrong: boolean): void {
    const least = storeTime - this.#clock.now()
    const isPossible = this.#offset >= least && this.#offset <= storeTime - sentAt
    if (isWrong || !isPossible) this.#offset = least
  }
}

/** The slice of a replica in the state of an account. */
export function sliceId(replica: string, day: string): string {
  return `s:${replica}:${day}`
}

interface Together {
  count: number
  readonly keys: string[]
  readonly args: (string | number)[]
}

/** On the wire, where each has its length and two line ends. Names are ASCII. */
function bytesOf(words: readonly (string | number)[]): number {
  return words.reduce<number>((sum, word) => sum + String(word).length + WORD_BYTES, 0)
}

const WORD_BYTES = 10

interface SentCall {
  readonly windows: readonly AccountWindow[]
  /** Deadline in the store's time; 0: none. */
  readonly until: number
  readonly args: readonly (string | number)[]
}
