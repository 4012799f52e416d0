/** The endpoints of one upstream: the list, their eligibility, and the choice for a request. */

import type { UpstreamSettings } from '../../config/snapshot.ts'
import { isDeniedAddress } from '../../connection/addresses.ts'
import { ENDPOINTS_MAX, ENDPOINTS_OF_ALL_MAX } from '../../schema/constants.ts'
import type { Section } from '../../schema/index.ts'
import type { ColdStart } from '../cold-start/cold-start.ts'
import type { Address } from './address.ts'
import { affine, least, nearest } from './choice.ts'
import { Endpoint, isBusy, isWell, STATES, stateOf, wasProbed } from './endpoint.ts'
import { type NameWatch, watchOrigin } from './names.ts'
import { type Bounds, freeIn } from './places.ts'
import { isPushed } from './pushed.ts'
import { Upkeep } from './upkeep.ts'
import type { EndpointsWorld } from './world.ts'

/** An endpoint that a request has tried; undefined: the upstream's host name. */
export type Tried = readonly (Endpoint | undefined)[]

interface Member {
  readonly endpoint: Endpoint
  readonly upkeep: Upkeep
}

export class Endpoints {
  readonly #name: string
  readonly #whole: Section
  readonly #world: EndpointsWorld
  /** Called when the last endpoint disappears, and when the first one appears. */
  readonly #coldStart: Pick<ColdStart, 'reached' | 'unreached'>
  /** Called when the probes of any endpoint succeed again. */
  readonly #onRecovery: () => void
  #settings: UpstreamSettings
  #queueMs: number | undefined
  #watch: NameWatch | undefined
  #members: readonly Member[] = []
  #all: readonly Endpoint[] = []
  /** Removed endpoints that still have requests. */
  #draining: readonly Endpoint[] = []
  #turn: number
  /** The zone of this process, if it is known and preferred. */
  #zone: string | undefined
  #found = 0
  #unhealthy = 0
  /** The time after which no endpoint is out because of failures. */
  #allInAt = 0
  #isOver = false

  constructor(
    settings: UpstreamSettings,
    whole: Section,
    world: EndpointsWorld,
    coldStart: Pick<ColdStart, 'reached' | 'unreached'>,
    onRecovery: () => void,
  ) {
    this.#coldStart = coldStart
    this.#onRecovery = onRecovery
    this.#name = settings.name
    this.#settings = settings
    this.#whole = whole
    this.#world = world
    this.#turn = Math.floor(world.random() * ENDPOINTS_MAX)
  }

  /** Applies settings that may change without new connections. */
  configure(settings: UpstreamSettings): void {
    this.#settings = settings
    for (const { upkeep } of this.#members) upkeep.configure(settings, this.#queueMs)
    this.refresh()
    const isNamed = settings.section.endpoints === 'dns'
    if (!isNamed || this.#watch !== undefined || settings.disabled !== undefined) return
    this.#watch = watchOrigin(settings.origin, this.#world, (addresses) => this.set(addresses))
  }

  /** Takes the endpoints that the operator has sent. */
  refresh(): void {
    const { pushed } = this.#world
    if (!isPushed(this.#settings)) return
    this.#zone = this.#settings.section.prefer_zone ? pushed?.zone : undefined
    this.set(pushed?.of(this.#name) ?? [])
  }

  /** Interval of load reports; undefined: no reports. */
  watchQueue(intervalMs: number | undefined): void {
    if (intervalMs === this.#queueMs) return
    this.#queueMs = intervalMs
    for (const { upkeep } of this.#members) upkeep.configure(this.#settings, intervalMs)
  }

  /** Remaining endpoints keep their connections; removed ones finish their requests. */
  set(addresses: readonly Address[]): void {
    if (this.#isOver) return
    const { census } = this.#world
    const byId = new Map(addresses.map((one) => [one.id, one]))
    const known = new Map(this.#members.map((one) => [one.endpoint.id, one]))
    const free = ENDPOINTS_OF_ALL_MAX - census.count + this.#all.length
    const most = Math.min(ENDPOINTS_MAX, free)
    const members: Member[] = []
    for (const address of byId.values()) {
      if (members.length >= most) break
      const member = known.get(address.id) ?? this.#open(address)
      if (member === undefined) continue
      member.endpoint.zone = address.zone
      members.push(member)
    }
    this.#tell(byId.size, members.length)
    const staying = new Set(members)
    const gone = this.#members.filter((one) => !staying.has(one))
    census.count += members.length - this.#members.length
    this.#members = members
    this.#all = members.map(({ endpoint }) => endpoint)
    this.#judgeHealth()
    for (const { endpoint, upkeep } of gone) {
      upkeep.stop()
      void endpoint.leave()
    }
    this.#draining = [...this.#draining, ...gone.map(({ endpoint }) => endpoint)].filter(isBusy)
    if (members.length === 0) this.#coldStart.unreached()
    else if (members.some(({ endpoint }) => !known.has(endpoint.id))) this.#coldStart.reached()
  }

  /** Forgets probes and failures, because the endpoints answer again. */
  forgive(): void {
    for (const one of this.#all) {
      one.outUntil = 0
      one.health.forget()
    }
    this.#judgeHealth()
  }

  /**
   * Chooses an endpoint by the key of the request, or without a key by load. undefined: use the upstream's host name,
   * as the last resort.
   */
  choose(tried: Tried, key: number | undefined, now: number): Endpoint | undefined {
    const free = this.#free(this.#untried(tried, now))
    const open = this.#zone === undefined ? free : nearest(free, this.#zone, now)
    const { random } = this.#world
    return key === undefined ? least(open, this.#turn++, random, now) : affine(open, key, now)
  }

  /** Whether a request that failed at these endpoints may be tried at another one. */
  hasOther(tried: Tried, now: number): boolean {
    const hasName = this.#settings.section.endpoints !== 'pool'
    return (hasName && !tried.includes(undefined)) || this.#untried(tried, now).length > 0
  }

  /** Stops sending requests for a while to an endpoint that could not be reached or broke off. */
  failed(endpoint: Endpoint, now: number): void {
    endpoint.failed(now)
    if (endpoint.isIn(now)) return
    this.#allInAt = Math.max(this.#allInAt, endpoint.outUntil)
    this.#world.metrics.endpointFailures.at(this.#name).value++
  }

  /** Whether any endpoint has not failed recently. */
  hasGood(now: number): boolean {
    return this.#all.some((one) => one.isIn(now) && isWell(one))
  }

  /** Whether every endpoint is full. */
  isFull(places: number, now: number): boolean {
    const open = this.#usable(now)
    return open.length > 0 && open.every(({ inFlight }) => inFlight >= places)
  }

  /** Free places of all endpoints. */
  free(bounds: Bounds, now: number): number {
    return freeIn(this.#usable(now), bounds, now)
  }

  /** Whether no endpoint answers probes. */
  get isUnhealthy(): boolean {
    return this.#all.length > 0 && this.#unhealthy === this.#all.length
  }

  /** The result of probes; Kubernetes lists only pods that pass theirs. Undefined before the first probe. */
  get isHealthy(): boolean | undefined {
    const isProbed = isPushed(this.#settings) || this.#all.some(wasProbed)
    return isProbed && this.#all.length > 0 ? !this.isUnhealthy : undefined
  }

  /** Whether the operator knows no ready pod; the host name is still tried, because it may be more recent. */
  get isBare(): boolean {
    return isPushed(this.#settings) && this.#world.pushed?.of(this.#name)?.length === 0
  }

  /** Whether no request can be sent at all, because a pool has no host name. */
  get isEmpty(): boolean {
    return this.#all.length === 0 && this.#settings.section.endpoints === 'pool'
  }

  /** Any endpoint, for a question that each of them can answer. */
  any(): Address | undefined {
    const now = this.#world.clock.now()
    return this.choose([], undefined, now)?.address
  }

  /** Number of endpoints that share the upstream's requests. */
  get count(): number {
    return this.#all.length
  }

  /** Waiting and running requests of all endpoints; those without a report count as the average of the others. */
  queue(now: number): number | undefined {
    const known = this.#all.map((one) => one.queue(now)).filter((queue) => queue !== undefined)
    if (known.length === 0) return undefined
    const sum = known.reduce((total, queue) => total + queue, 0)
    return Math.round((sum * this.#all.length) / known.length)
  }

  get addresses(): readonly Address[] {
    return this.#all.map(({ address }) => address)
  }

  /** The endpoints in the status. */
  list(now: number) {
    this.#draining = this.#draining.filter(isBusy)
    return [
      ...this.#all.map((one) => one.status(stateOf(one, now), now)),
      ...this.#draining.map((one) => one.status('draining', now)),
    ]
  }

  /** Updates the gauges. */
  show(now: number): void {
    const { endpoints } = this.#world.metrics
    const counts = new Map(STATES.map((state) => [state, 0]))
    for (const one of this.#all)
      counts.set(stateOf(one, now), (counts.get(stateOf(one, now)) ?? 0) + 1)
    counts.set('draining', this.#draining.filter(isBusy).length)
    for (const [state, count] of counts) endpoints.at(this.#name, state).value = count
  }

  /** Ends all probes and reports; running requests may still use their endpoint. */
  retire(): void {
    this.set([])
    this.#isOver = true
    this.#watch?.stop()
  }

  async destroy(): Promise<void> {
    const all = [...this.#all, ...this.#draining]
    this.retire()
    await Promise.all(all.map((one) => one.destroy()))
  }

  /** The endpoints without failed ones, unless more than half have failed. */
  #usable(now: number): readonly Endpoint[] {
    if (now >= this.#allInAt && this.#unhealthy === 0) return this.#all
    const well = this.#unhealthy === 0 ? this.#all : this.#all.filter(isWell)
    const usable = well.filter((one) => one.isIn(now))
    return usable.length * 2 >= well.length ? usable : well
  }

  #untried(tried: Tried, now: number): readonly Endpoint[] {
    const usable = this.#usable(now)
    return tried.length === 0 ? usable : usable.filter((one) => !tried.includes(one))
  }

  /** The endpoints with a free place, if there are any. */
  #free(open: readonly Endpoint[]): readonly Endpoint[] {
    const { max_queue_depth: places } = this.#settings.section
    if (places === undefined) return open
    const free = open.filter(({ inFlight }) => inFlight < places)
    return free.length === 0 ? open : free
  }

  /** Undefined for an address that is never dialled. */
  #open(address: Address): Member | undefined {
    if (isDeniedAddress(address.address)) return undefined
    const endpoint = new Endpoint(address, this.#settings, this.#whole, {
      onHealth: () => this.#judgeHealth(),
      onRecovery: this.#onRecovery,
    })
    const upkeep = new Upkeep(endpoint, this.#settings, this.#world)
    upkeep.configure(this.#settings, this.#queueMs)
    return { endpoint, upkeep }
  }

  #judgeHealth(): void {
    this.#unhealthy = this.#all.filter((one) => !isWell(one)).length
    if (this.isUnhealthy && this.#all.every((one) => one.isUnreached)) this.#coldStart.unreached()
  }

  #tell(found: number, taken: number): void {
    const { log } = this.#world
    if (found === this.#found) return
    this.#found = found
    const fields = { upstream: this.#name, found, taken }
    const isAll = taken === found
    const rest =
      `; ${taken} of them are used. The bounds are ${ENDPOINTS_MAX} of an upstream and ${ENDPOINTS_OF_ALL_MAX} in all, ` +
      'and metadata addresses are never dialled'
    const message = `Upstream "${this.#name}" has ${found} endpoints${isAll ? '' : rest}.`
    log.event(isAll ? 'info' : 'warn', 'endpoints', message, fields)
  }
}
