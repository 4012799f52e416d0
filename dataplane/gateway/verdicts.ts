/** The result of the last probe of each verified route. Pure: the time is an argument, and an old verdict never counts. */

/** pending: no probe of this configuration has ended lately. */
export type RouteState = 'answers' | 'fails' | 'pending'

export interface RouteVerdict {
  readonly route: string
  readonly state: RouteState
  /** Why the route fails, or who answered. */
  readonly why?: string
  /** When the probe ended, ISO 8601. */
  readonly at?: string
  readonly ms?: number
}

/** The verdicts on one configuration, worst first. */
export interface Verification {
  /** The hash of the configuration that was probed. */
  readonly hash: string
  readonly routes: readonly RouteVerdict[]
}

export interface ProbeResult {
  /** undefined: the upstreams are busy with other requests, which says nothing about the route. */
  readonly ok: boolean | undefined
  readonly why: string
  readonly ms: number
}

export interface ProbePace {
  /** Between two probes of a route that answers. */
  readonly answersMs: number
  /** Between two probes of a route that fails. */
  readonly failsMs: number
}

export const PACE: ProbePace = { answersMs: 60_000, failsMs: 5000 }
/** An answer counts for this many intervals; then the prober has failed. */
const LAPSES_AFTER = 2
const WHY_LENGTH_MAX = 300

interface ProbedRoute {
  state: RouteState
  why: string
  ms: number
  /** Milliseconds of the monotonic clock at the end of the last probe. */
  provenAt: number
  at: string
  dueAt: number
  isRunning: boolean
}

/** A probe that has begun; its result counts only for the configuration that it began with. */
export interface Probe {
  readonly route: string
  readonly round: number
}

export class Verdicts {
  readonly #pace: ProbePace
  readonly #entries = new Map<string, ProbedRoute>()
  #hash = ''
  #round = 0

  constructor(pace: ProbePace = PACE) {
    this.#pace = pace
  }

  /** A configuration became active, perhaps the same one with another Secret: earlier answers prove nothing about it. */
  follow(hash: string, routes: readonly string[], now: number): void {
    this.#hash = hash
    this.#round++
    this.#entries.clear()
    for (const route of routes) {
      const none = { state: 'pending', why: '', ms: 0, provenAt: now, at: '' } as const
      this.#entries.set(route, { ...none, dueAt: now, isRunning: false })
    }
  }

  /** The health of an upstream has changed: each route is probed again now. */
  doubt(now: number): void {
    for (const entry of this.#entries.values()) entry.dueAt = Math.min(entry.dueAt, now)
  }

  get size(): number {
    return this.#entries.size
  }

  get names(): Iterable<string> {
    return this.#entries.keys()
  }

  /** Begins the probes that are due, at most this many at a time. */
  begin(now: number, atOnce: number): Probe[] {
    const entries = [...this.#entries]
    let room = atOnce - entries.filter(([, { isRunning }]) => isRunning).length
    const begun: Probe[] = []
    for (const [route, entry] of entries) {
      if (entry.isRunning || entry.dueAt > now || room <= 0) continue
      room--
      entry.isRunning = true
      entry.dueAt = Number.POSITIVE_INFINITY
      begun.push({ route, round: this.#round })
    }
    return begun
  }

  ended({ route, round }: Probe, { ok, why, ms }: ProbeResult, now: number, wall: number): void {
    const entry = this.#entries.get(route)
    if (entry === undefined || round !== this.#round) return
    entry.isRunning = false
    const waitMs = ok === true ? this.#pace.answersMs : this.#pace.failsMs
    // A doubt during the probe is not settled by the probe.
    entry.dueAt = Math.min(entry.dueAt, now + waitMs)
    if (ok === undefined) return
    entry.state = ok ? 'answers' : 'fails'
    entry.why = why.slice(0, WHY_LENGTH_MAX)
    entry.ms = ms
    entry.provenAt = now
    entry.at = new Date(wall).toISOString()
  }

  stateOf(route: string, now: number): RouteState {
    const entry = this.#entries.get(route)
    if (entry === undefined) return 'pending'
    const isOld = now - entry.provenAt > this.#pace.answersMs * LAPSES_AFTER
    return isOld ? 'pending' : entry.state
  }

  /** undefined if no route is verified. */
  report(now: number): Verification | undefined {
    if (this.#entries.size === 0) return undefined
    const urgency = { fails: 0, pending: 1, answers: 2 }
    const routes = [...this.#entries].map(([route, { why, at, ms }]): RouteVerdict => {
      const state = this.stateOf(route, now)
      return state === 'pending' ? { route, state } : { route, state, why, at, ms }
    })
    return {
      hash: this.#hash,
      routes: routes.toSorted((one, other) => urgency[one.state] - urgency[other.state]),
    }
  }
}
