/**
 * The link to Redis: sends each script once, within its deadline. A breaker makes an outage cheap after its first
 * moments. A timer probes, drops connections without an answer and reconnects. No call waits for a connection.
 */
import { hash } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import { type Member, Roster } from '../../base/roster.ts'
import { Breaker } from './breaker.ts'
import { type AwayReason, type Link, type Script, StoreAway } from './link.ts'
import type { Argument, RedisClient } from './redis-client.ts'
import { awayBecause, isScriptUnknown } from './redis-errors.ts'

/** Interval of probes while the store answers, so that a gateway without requests detects an outage. */
const BEAT_MS = 1_000
/** Interval of probes while the store does not answer. */
const PROBE_MS = 150
/** Timeout of a connection attempt, or twice the deadline of a command if that is longer. */
const CONNECT_MS = 600

type Send = Link['run']

/** Settings are read for each call, because a reload may change them. */
export interface LinkOptions {
  readonly open: (connectMs: number, on: ClientEvents) => RedisClient
  readonly clock: Clock
  readonly random: () => number
  /** Deadline of one script. */
  readonly timeoutMs: number
  /** Whether one good probe closes the breaker, because nothing can be decided without the store. */
  readonly isHasty?: boolean
  /** Writes with `send`, so that a server that is read-only or full counts as unreachable. */
  readonly probe: (send: Send) => Promise<unknown>
  /** Called when the store becomes reachable or unreachable. */
  readonly onChange: (isUp: boolean, why: StoreAway | undefined) => void
  /** Called for each failure, including probes, except while the breaker is open. */
  readonly onFailure: (away: StoreAway) => void
}

export interface ClientEvents {
  readonly onReady: () => void
  readonly onEnd: (error: Error | undefined) => void
}

/** A script that was sent and has no answer yet. */
class PendingCall implements Member {
  seat = -1
  timer: NodeJS.Timeout | undefined
  readonly resolve: (reply: unknown) => void
  readonly reject: (away: StoreAway) => void

  constructor(resolve: PendingCall['resolve'], reject: PendingCall['reject']) {
    this.resolve = resolve
    this.reject = reject
  }
}

export class RedisLink implements Link {
  readonly #options: LinkOptions
  readonly #breaker: Breaker
  readonly #asked = new Roster<PendingCall>()
  readonly #shas = new WeakMap<Script, string>()
  readonly #connectMs: number
  #client: RedisClient | undefined
  #openedAt = 0
  #attempts = 0
  #timer: NodeJS.Timeout | undefined
  #isProbing = false
  #isClosed = false
  #first: (() => void) | undefined

  constructor(options: LinkOptions) {
    this.#options = options
    this.#breaker = new Breaker(options.clock, options)
    this.#connectMs = Math.max(CONNECT_MS, 2 * options.timeoutMs)
  }

  /** Resolves with the first good answer, or after `mostMs`; tries continue in any case. */
  async start(mostMs: number): Promise<void> {
    const first = new Promise<void>((resolve) => {
      this.#first = resolve
    })
    this.#tick()
    const timer = setTimeout(() => this.#first?.(), mostMs)
    await first
    clearTimeout(timer)
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
    this.#client?.close()
    this.#client = undefined
    this.#failAll('connection')
  }

  /** Whether scripts are refused without being sent. */
  get isAway(): boolean {
    return this.#breaker.isOpen
  }

  run(script: Script, keys: readonly string[], args: readonly Argument[]): Promise<unknown> {
    if (this.#breaker.isOpen) return Promise.reject(new StoreAway('open', false))
    return this.#send(script, keys, args).then(
      (reply) => {
        this.#breaker.succeeded()
        return reply
      },
      (away: StoreAway) => {
        this.#failed(away)
        throw away
      },
    )
  }

  #send: Send = (script, keys, args) => {
    const client = this.#client
    if (client === undefined || !client.isReady) {
      return Promise.reject(new StoreAway('connection', false))
    }
    return new Promise((resolve, reject) => {
      const asked = new PendingCall(resolve, reject)
      this.#asked.add(asked)
      asked.timer = setTimeout(lateness, this.#options.timeoutMs, this, asked)
      const answered = (reply: unknown) => {
        this.#forget(asked)
        resolve(reply)
      }
      const failed = (error: unknown) => {
        this.#forget(asked)
        reject(awayBecause(error))
      }
      client.runCached(this.#shaOf(script), keys, args).then(answered, (error: unknown) => {
        // After a restart, a flush or a promotion; the error comes before any part of the script ran.
        if (!isScriptUnknown(error)) failed(error)
        else client.runWhole(script.lua, keys, args).then(answered, failed)
      })
    })
  }

  /** Called by the timer of a script. */
  late(asked: PendingCall): void {
    if (asked.seat === -1) return
    this.#forget(asked)
    asked.reject(new StoreAway('timeout', true))
  }

  #forget(asked: PendingCall): void {
    clearTimeout(asked.timer)
    this.#asked.remove(asked)
  }

  #failed(away: StoreAway): void {
    this.#options.onFailure(away)
    // A key of the wrong type or a failing script is an answer of a reachable server.
    if (away.reason === 'other') return
    if (!this.#breaker.failed()) return
    this.#options.onChange(false, away)
    // Other calls on the same connection would wait in vain until their own deadlines.
    this.#failAll(away.reason)
    this.#schedule(0)
  }

  #failAll(reason: AwayReason): void {
    for (const asked of this.#asked.list()) {
      this.#forget(asked)
      asked.reject(new StoreAway(reason, true))
    }
  }

  #tick(): void {
    if (this.#isClosed) return
    const client = this.#client
    const now = this.#options.clock.now()
    if (client === undefined) this.#connect(now)
    else if (client.isReady) void this.#probe(client)
    else if (now - this.#openedAt > this.#connectMs) this.#drop(client)
    const isCalm = !this.#breaker.isOpen && this.#client?.isReady === true
    this.#schedule(isCalm ? BEAT_MS : PROBE_MS)
  }

  /** Keeps at most one timer, with jitter, so that replicas do not reconnect to a returning store all at once. */
  #schedule(ms: number): void {
    if (this.#isClosed) return
    clearTimeout(this.#timer)
    const jittered = ms * (0.75 + this.#options.random() / 2)
    this.#timer = setTimeout(() => this.#tick(), jittered).unref()
  }

  #connect(now: number): void {
    this.#openedAt = now
    try {
      const client: RedisClient = this.#options.open(this.#connectMs, {
        onReady: () => {
          if (this.#client !== client) return
          this.#attempts = 0
          this.#schedule(0)
        },
        onEnd: (error) => this.#ended(client, error),
      })
      this.#client = client
    } catch (error) {
      // Unreadable TLS files may be readable at the next attempt.
      this.#failed(new StoreAway('connection', false, { cause: error }))
    }
  }

  #drop(client: RedisClient): void {
    client.close()
    this.#ended(client, undefined)
  }

  #ended(client: RedisClient, error: Error | undefined): void {
    if (this.#client !== client) return
    this.#client = undefined
    this.#failAll('connection')
    this.#failed(new StoreAway('connection', false, { cause: error }))
    this.#attempts++
    // The first attempt follows at once, because a restarted server is back soon.
    this.#schedule(Math.min(250, 25 * 2 ** Math.min(this.#attempts, 10)))
  }

  async #probe(client: RedisClient): Promise<void> {
    if (this.#isProbing) return
    this.#isProbing = true
    try {
      await this.#options.probe(this.#send)
      this.#breaker.succeeded()
      if (this.#breaker.probed(true)) this.#opened()
    } catch (error) {
      const away = awayBecause(error)
      this.#breaker.probed(false)
      if (this.#breaker.isOpen) {
        this.#options.onFailure(away)
        // A new connection may reach another server; it does not help against lack of permission or memory.
        if (away.reason !== 'noperm' && away.reason !== 'oom' && this.#client === client) {
          this.#drop(client)
        }
      } else {
        this.#failed(away)
        this.#schedule(PROBE_MS)
      }
    } finally {
      this.#isProbing = false
    }
  }

  #opened(): void {
    this.#first?.()
    this.#options.onChange(true, undefined)
    this.#schedule(BEAT_MS)
  }

  #shaOf(script: Script): string {
    let sha = this.#shas.get(script)
    if (sha === undefined) {
      sha = hash('sha1', script.lua)
      this.#shas.set(script, sha)
    }
    return sha
  }
}

/**
 * If this process was busy, the answer may be in the socket's buffer, so it is read before the verdict. A function of
 * the module, so that a request makes no closure.
 */
function lateness(link: RedisLink, asked: PendingCall): void {
  setImmediate(() => link.late(asked))
}
