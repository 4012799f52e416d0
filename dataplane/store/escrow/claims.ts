/** Sends the claims of holdings when they are due, those of one time in one call. */
import type { Clock } from '../../base/clock.ts'
import { StoreAway } from '../redis/link.ts'
import { type CallPart, type Calls, sliceId } from '../redis/redis-calls.ts'
import { crossings } from '../redis/request-part.ts'
import { CLAIM } from '../redis/scripts/claim.ts'
import { ALERTS_AT, GREW_AT, type Holding, type SentClaim } from './holding.ts'

/** Usage and settlements go to the store after this time. */
const FLUSH_MS = 200

/** Claims that are due within this time go with those that are due now. */
const TOGETHER_MS = 100

/** Shortest time between claims of a slice that is running low. */
const LOW_MS = 20

/** A slice lasts for two of these without an answer. */
const RENEW_MS = 5_000

/** Accounts in one call: some 32 KiB, and a millisecond of the server. */
const TOGETHER_MAX = 40

const TRIES_MAX = 5

export interface ClaimsOptions {
  readonly calls: Calls
  readonly clock: Clock
  readonly replica: string
  /** Calls once after a time; returns a function that prevents it. */
  readonly schedule: (ms: number, call: () => void) => () => void
  /** Whether one call may concern several accounts, which a cluster stores separately. */
  readonly isTogether: boolean
  /** Whether messages of the store arrive: otherwise slices would block other replicas. */
  readonly hears: () => boolean
}

interface Sending {
  readonly holding: Holding
  readonly sent: SentClaim
  readonly missing: string[]
}

export class Claims {
  readonly #options: ClaimsOptions
  readonly #holdings = new Set<Holding>()
  #wakeAt = Number.POSITIVE_INFINITY
  #cancel: () => void = () => undefined
  #isClosing = false
  #onClosed: () => void = () => undefined
  /** Called with each answered claim, and whether its request grew. */
  onAnswer: (holding: Holding, grew: boolean) => void = () => undefined

  constructor(options: ClaimsOptions) {
    this.#options = options
  }

  /** Something was used or settled. */
  changed(holding: Holding, now: number): void {
    if (holding.slice.isWanted(now)) this.urgent(holding)
    else this.#dueBy(holding, now + FLUSH_MS)
  }

  /** The slice has less than the next requests need. */
  isLow(holding: Holding, now: number): void {
    if (holding.slice.mayWant(now)) this.#dueBy(holding, holding.sentAt + LOW_MS)
  }

  urgent(holding: Holding): void {
    this.#dueBy(holding, this.#now)
  }

  /** Sends everything at once, and from here on keeps nothing idle. Resolves once the store has all that was settled. */
  close(): Promise<void> {
    this.#isClosing = true
    return new Promise((resolve) => {
      this.#onClosed = resolve
      for (const holding of this.#holdings) this.urgent(holding)
      this.#closeIfSent()
    })
  }

  get #now(): number {
    return this.#options.clock.now()
  }

  #closeIfSent(): void {
    if (!this.#isClosing) return
    for (const { isSending, hasSettled, dueAt } of this.#holdings)
      if (isSending || hasSettled || dueAt <= this.#now) return
    this.#onClosed()
  }

  #dueBy(holding: Holding, at: number): void {
    if (at < holding.dueAt) {
      this.#holdings.add(holding)
      holding.dueAt = at
    }
    if (!holding.isSending) this.#wakeBy(holding.dueAt)
  }

  #wakeBy(at: number): void {
    if (at >= this.#wakeAt) return
    this.#cancel()
    this.#wakeAt = at
    const ms = Math.max(0, Math.ceil(at - this.#now))
    this.#cancel = this.#options.schedule(ms, () => this.#wake())
  }

  #wake(): void {
    this.#wakeAt = Number.POSITIVE_INFINITY
    const by = this.#now + TOGETHER_MS
    const due: Holding[] = []
    let next = Number.POSITIVE_INFINITY
    for (const holding of this.#holdings) {
      if (holding.isSending) continue
      if (holding.dueAt <= by) due.push(holding)
      else next = Math.min(next, holding.dueAt)
    }
    void this.#send(due)
    if (next < Number.POSITIVE_INFINITY) this.#wakeBy(next)
  }

  async #send(due: readonly Holding[]): Promise<void> {
    const most = this.#options.isTogether ? TOGETHER_MAX : 1
    const calls: Promise<void>[] = []
    for (let at = 0; at < due.length; at += most)
      calls.push(this.#sendSome(due.slice(at, at + most)))
    await Promise.all(calls)
  }

  async #sendSome(due: readonly Holding[]): Promise<void> {
    const { clock, hears, calls } = this.#options
    for (const holding of due) holding.isSending = true
    try {
      // A replica adds nothing to a window before it knows the window's `born`.
      const unmet = due.filter(({ day, month }) => !day.isMet || !month.isMet)
      await Promise.all(unmet.map(({ account, day, month }) => calls.meet(account, [day, month])))
    } catch {
      for (const holding of due) this.#failed(holding)
      return
    }
    const may = { keep: !this.#isClosing, want: hears() && !this.#isClosing }
    let left: Sending[] = due.map((holding) => ({
      holding,
      sent: holding.claim(clock.now(), may),
      missing: [],
    }))
    for (let tries = 0; tries < TRIES_MAX && left.length > 0; tries++) {
      left = await this.#try(left)
    }
    for (const { holding, sent } of left) this.#failed(holding, sent)
  }

  /** Returns the claims that must be sent again. */
  async #try(all: readonly Sending[]): Promise<Sending[]> {
    const { calls, clock } = this.#options
    const lost: Sending[] = []
    let replies: readonly (readonly (number | string)[])[]
    try {
      replies = await calls.runTogether(
        CLAIM,
        all.map((one) => this.#partOf(one)),
      )
    } catch (error) {
      // While it is known that the store is away, nothing leaves this process.
      const isUnsent = error instanceof StoreAway && error.reason === 'open'
      for (const { holding, sent } of all) this.#failed(holding, sent, isUnsent)
      return []
    }
    const again: Sending[] = []
    for (const [index, one] of all.entries()) {
      const [code, , ...rest] = replies[index] ?? [0]
      if (code === 1) this.#answered(one, replies[index] as readonly number[], clock.now())
      else if (code === -3) lost.push(one)
      else if (code === 2) this.#failed(one.holding, one.sent)
      else {
        if (code === -2) one.missing.push(...rest.map(String))
        again.push(one)
      }
    }
    await this.#restore(lost)
    return again
  }

  /** The store gets what it has lost before the next claim, which is another one: nothing that this one names is set aside. */
  async #restore(lost: readonly Sending[]): Promise<void> {
    if (lost.length === 0) return
    const accounts = lost.map(({ holding }) => holding.account)
    const isHealed = await this.#options.calls.restore(accounts).then(
      () => true,
      () => false,
    )
    for (const { holding, sent } of lost) {
      this.#failed(holding, sent)
      if (isHealed) this.urgent(holding)
    }
  }

  #partOf({ holding, sent, missing }: Sending): Omit<CallPart, 'facts'> {
    const { account, day, month } = holding
    const id = sliceId(this.#options.replica, day.name)
    return {
      account,
      windows: () => [day, month, ...missing.map((name) => account.windowNamed(name))],
      args: () => [
        ...[id, sent.claim.number, sent.claim.heard],
        ...holding.argumentsOf(sent, this.#now),
      ],
    }
  }

  #answered({ holding, sent }: Sending, reply: readonly number[], now: number): void {
    holding.isSending = false
    holding.hear(sent, reply, now)
    const [first, ...others] = sent.alerted
    first?.(crossings(holding, sent.budget, reply, ALERTS_AT))
    for (const alerted of others) alerted([])
    for (const report of sent.reports) report()
    this.onAnswer(holding, reply[GREW_AT] === 1)
    const { slice } = holding
    if (holding.isOver) {
      this.#holdings.delete(holding)
      holding.dueAt = Number.POSITIVE_INFINITY
    } else if (slice.hasIdle && (this.#isClosing || slice.isWanted(now))) this.urgent(holding)
    else this.#dueBy(holding, now + RENEW_MS)
    this.#closeIfSent()
  }

  #failed(holding: Holding, sent?: SentClaim, isUnsent = false): void {
    holding.isSending = false
    // Else it would be due at once, again and again, while its windows cannot be read.
    if (sent === undefined) holding.dueAt = Number.POSITIVE_INFINITY
    else {
      holding.takeBack(sent, isUnsent)
      if (sent.more !== undefined) this.onAnswer(holding, false)
    }
    this.#dueBy(holding, this.#now + FLUSH_MS)
  }
}
