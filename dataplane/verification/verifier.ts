/**
 * Probes the routes with `verify: true`: after each activation of a configuration or a Secret, whenever the standing of
 * an upstream changes, and again each minute.
 */
import { randomBytes } from 'node:crypto'
import type { Deadline } from '../base/clock.ts'
import type { Active } from '../gateway/active.ts'
import type { Gateway } from '../gateway/gateway.ts'
import {
  type Probe,
  type ProbePace,
  type ProbeResult,
  Verdicts,
  type Verification,
} from '../gateway/verdicts.ts'
import { laneOf } from '../upstream/named/lanes.ts'
import { apartFrom } from './apart.ts'
import { probe } from './probe.ts'

/** A gateway may have a thousand routes. */
const AT_ONCE = 4
const KEY_BYTES = 32
/** Two probes of a route because of an upstream that comes and goes. */
const DOUBT_MS = 1000

export interface VerifierOptions {
  readonly schedule: (delayMs: number, call: () => void) => () => void
  readonly pace?: ProbePace
}

export class Verifier implements Deadline {
  /** With every sweep: it only compares until a probe is due. */
  due = 0
  seat = -1
  readonly #gateway: Gateway
  readonly #options: VerifierOptions
  readonly #verdicts: Verdicts
  readonly #key = `gw_${randomBytes(KEY_BYTES).toString('hex')}`
  #seen: Active | undefined
  #apart: Gateway | undefined
  #standings = ''
  #doubtedAt = Number.NEGATIVE_INFINITY

  constructor(gateway: Gateway, options: VerifierOptions) {
    this.#gateway = gateway
    this.#options = options
    this.#verdicts = new Verdicts(options.pace)
    gateway.metrics.routeVerified.collect = () => this.#show()
  }

  expire(now: number): void {
    this.#follow(now)
    if (this.#verdicts.size === 0 || this.#gateway.draining) return
    this.#watchStandings(now)
    for (const one of this.#verdicts.begin(now, AT_ONCE)) void this.#probe(one)
  }

  /** undefined if no route is verified. */
  report(): Verification | undefined {
    const now = this.#gateway.clock.now()
    this.#follow(now)
    return this.#verdicts.report(now)
  }

  #follow(now: number): void {
    const { active } = this.#gateway
    if (active === this.#seen) return
    this.#seen = active
    const { hash, section } = active.snapshot
    const routes = section.routes.filter(({ verify }) => verify).map(({ name }) => name)
    this.#verdicts.follow(hash, routes, now)
    this.#apart = undefined
    this.#standings = this.#standingsNow(now)
  }

  /** An upstream that is out, or returns, may change what a route answers. */
  #watchStandings(now: number): void {
    if (now - this.#doubtedAt < DOUBT_MS) return
    const standings = this.#standingsNow(now)
    if (standings === this.#standings) return
    this.#standings = standings
    this.#doubtedAt = now
    this.#verdicts.doubt(now)
  }

  #standingsNow(now: number): string {
    const { active } = this.#gateway
    const found: string[] = []
    for (const name of this.#verdicts.names) {
      const route = active.snapshot.routes.get(name)
      if (route === undefined) continue
      for (const { state } of laneOf(route, active.lanes).targets)
        found.push(state.outBecause(now) ?? '')
    }
    return found.join(',')
  }

  async #probe(one: Probe): Promise<void> {
    const { clock, log } = this.#gateway
    this.#apart ??= apartFrom(this.#gateway, this.#key)
    const parts = { gateway: this.#apart, key: this.#key, schedule: this.#options.schedule }
    const before = this.#verdicts.stateOf(one.route, clock.now())
    const result = await probe(one.route, parts).catch(
      (error: Error): ProbeResult => ({ ok: false, why: error.message, ms: 0 }),
    )
    const now = clock.now()
    this.#verdicts.ended(one, result, now, clock.wall())
    const after = this.#verdicts.stateOf(one.route, now)
    if (after === before || after === 'pending') return
    const level = after === 'answers' ? 'info' : 'warn'
    const said = after === 'answers' ? 'answers' : 'does not answer'
    log.event(
      level,
      'verify',
      `Route ${one.route} ${said} the gateway's own probe: ${result.why}`,
      {
        route: one.route,
      },
    )
  }

  /** 1 for a route that answers. */
  #show(): void {
    const { metrics } = this.#gateway
    const { routes = [] } = this.report() ?? {}
    const names = new Set(routes.map(({ route }) => route))
    metrics.routeVerified.retain('route', (name) => names.has(name))
    for (const { route, state } of routes)
      metrics.routeVerified.at(route).value = state === 'answers' ? 1 : 0
  }
}
