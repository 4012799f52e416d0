/** The memory of an upstream: connections, load, breaker, health, cooling. */
import type { Dispatcher } from 'undici'
import { schedule } from '../../base/clock.ts'
import type { UpstreamSettings } from '../../config/snapshot.ts'
import { Breaker, type BreakerState, breakerSettingsOf } from '../../connection/breaker.ts'
import { openPool, openRequestPool, transportTo } from '../../connection/client.ts'
import type { PoolHandler, PoolRequest, RequestPool } from '../../connection/http1/contract.ts'
import type { Section } from '../../schema/index.ts'
import type { Counter } from '../../tokens/counter.ts'
import type { Out } from '../attempt/attempts.ts'
import { ColdStart } from '../cold-start/cold-start.ts'
import { UpstreamCredential } from '../credentials/upstream-credential.ts'
import { Endpoints } from '../endpoints/endpoints.ts'
import { hasEndpoints, reached } from '../endpoints/reach.ts'
import type { EndpointsWorld, World } from '../endpoints/world.ts'
import type { FairQueue } from '../fairness/fair-queue.ts'
import { HealthCheck, type HealthState, healthSettingsOf, Prober } from './health.ts'
import { Lessons } from './lessons.ts'
import { ModelRevision, readModelRevision } from './model-revision.ts'
import { ModelWindow, readModelWindow } from './model-window.ts'
import { answersProbe, watchedProbe } from './probe.ts'
import { QueueWatch, scrapeQueue } from './queue-watch.ts'
import { RetryBudget } from './retry-budget.ts'
import { openRuntimeCounter } from './runtime-tokenizer.ts'
import { showBreaker, showHealth } from './shown-state.ts'

/** Connections for questions that belong to requests; more than for probes. */
const QUESTION_CONNECTIONS = 16

export class TargetState {
  readonly pool: RequestPool
  readonly breaker: Breaker
  readonly health: HealthCheck
  /** Present if the upstream has several endpoints, whose health is then that of the upstream. */
  readonly endpoints: Endpoints | undefined
  readonly retryBudget = new RetryBudget()
  readonly lessons: Lessons
  readonly credential: UpstreamCredential
  /** Requests that wait while no server listens. */
  readonly coldStart: ColdStart
  /** Requests that wait for a place; undefined if a full upstream refuses. */
  fair: FairQueue | undefined
  inFlight = 0
  /** The last failure that the breaker counted, as text for the status. */
  failedLast: string | undefined
  /** Until this time the upstream is tried last, because its Retry-After was too long for a repeat. */
  cooledUntil = 0
  readonly #name: string
  readonly #whole: Section
  readonly #world: World & EndpointsWorld
  #settings: UpstreamSettings
  #prober: Prober | undefined
  #openSidePool: Dispatcher | undefined
  #queueWatch: QueueWatch | undefined
  #modelWindow: ModelWindow | undefined
  #revision: ModelRevision | undefined
  #questionPool: Dispatcher | undefined
  #counter: Counter | undefined
  /** Requests in flight when the runtime reported its queue. */
  #reportedOwn = 0

  constructor(settings: UpstreamSettings, whole: Section, world: World & EndpointsWorld) {
    this.#name = settings.name
    this.#whole = whole
    this.#world = world
    this.#settings = settings
    this.lessons = new Lessons(settings.name, world.log)
    this.breaker = new Breaker(breakerSettingsOf(settings.section), (from, to) =>
      this.#breakerChanged(from, to),
    )
    const onRecovery = () => this.breaker.recovered()
    this.health = new HealthCheck(
      healthSettingsOf(settings.section),
      (from, to) => this.#healthChanged(from, to),
      onRecovery,
    )
    this.coldStart = new ColdStart(settings.name, {
      ...world,
      isReachable: () =>
        answersProbe(transportTo(reached(settings, this.endpoints), whole), this.#settings),
      onReached: () => this.#forgive(),
    })
    if (hasEndpoints(settings, whole))
      this.endpoints = new Endpoints(settings, whole, world, this.coldStart, onRecovery)
    const transport = reached(settings, this.endpoints)
    this.pool = openRequestPool(transport, whole, settings.section.max_connections)
    this.credential = new UpstreamCredential(settings.name, { ...world, schedule })
    this.show()
  }

  /** Applies settings that may change without new connections. */
  configure(settings: UpstreamSettings): void {
    this.#settings = settings
    this.breaker.configure(breakerSettingsOf(settings.section))
    this.coldStart.configure(settings.section.cold_start)
    this.credential.configure(settings)
    this.#watchWindow(settings)
    this.#watchRevision(settings)
    if (this.endpoints !== undefined) {
      this.endpoints.configure(settings)
      return
    }
    if (settings.healthPath === undefined) {
      this.#prober?.stop()
      this.#prober = undefined
      // Forgets earlier probes, including one that is still running.
      this.health.forget()
      return
    }
    this.#prober ??= this.#createProber()
    this.#prober.configure(healthSettingsOf(settings.section))
    this.#prober.start()
  }

  /** Uses a new connection, because kept ones may all have become stale at once. */
  dispatchAnew(request: PoolRequest, handler: PoolHandler): void {
    const pool = openRequestPool(reached(this.#settings, this.endpoints), this.#whole, 1)
    pool.dispatch(request, handler)
    pool.close().catch(() => undefined)
  }

  /** Waiting plus running requests in the last report of the runtime; undefined if unknown or stale. */
  get reportedQueue(): number | undefined {
    if (this.endpoints !== undefined) return this.endpoints.queue(this.#world.clock.now())
    return this.#queueWatch?.depth
  }

  /** The window that the runtime reports; undefined if it was not asked or did not report one. */
  get toldWindow(): number | undefined {
    return this.#modelWindow?.tokens
  }

  /** The pinned and the served revision of the model; undefined if the configuration needs neither. */
  get revision(): Pick<ModelRevision, 'pinned' | 'served' | 'state'> | undefined {
    return this.#revision
  }

  #watchRevision({ section, provider, disabled }: UpstreamSettings): void {
    const { tokenizer_revision: pinned, tokenizer_autodetect: isDetected } = section
    const isWatched = pinned !== undefined || isDetected === true
    const isAsked = isWatched && !provider.hosted && disabled === undefined
    if (isAsked === (this.#revision !== undefined) && pinned === this.#revision?.pinned) return
    this.#revision?.stop()
    this.#revision = undefined
    if (!isAsked) return
    const pool = this.#sidePool()
    const { log, metrics } = this.#world
    const read = () => readModelRevision(pool, this.#settings)
    this.#revision = new ModelRevision(this.#name, pinned, { log, metrics, read })
  }

  /** Counts prompts with the runtime's tokenizer. */
  get runtimeCounter(): Counter {
    this.#counter ??= openRuntimeCounter(this.questions, () => this.#settings, this.#world)
    return this.#counter
  }

  /** Connections for questions that belong to requests. */
  get questions(): Dispatcher {
    this.#questionPool ??= openPool(
      reached(this.#settings, this.endpoints),
      this.#whole,
      QUESTION_CONNECTIONS,
    )
    return this.#questionPool
  }

  #watchWindow({ contextWindow, provider, disabled, takesModel }: UpstreamSettings): void {
    const isOne = contextWindow === undefined && takesModel === undefined
    const isAsked = isOne && !provider.hosted && disabled === undefined
    if (isAsked === (this.#modelWindow !== undefined)) return
    this.#modelWindow?.stop()
    if (!isAsked) {
      this.#modelWindow = undefined
      return
    }
    const pool = this.#sidePool()
    this.#modelWindow = new ModelWindow(() => readModelWindow(pool, this.#settings))
  }

  /** Watches the runtime's queue at the interval, or stops watching. */
  watchQueue(intervalMs: number | undefined): void {
    if (this.endpoints !== undefined) {
      this.endpoints.watchQueue(intervalMs)
      return
    }
    if (this.#queueWatch?.intervalMs === intervalMs) return
    this.#queueWatch?.stop()
    this.#queueWatch = undefined
    if (intervalMs === undefined) return
    const pool = this.#sidePool()
    this.#queueWatch = new QueueWatch(intervalMs, this.#world.clock, async () => {
      const depth = await scrapeQueue(pool, this.#settings)
      this.#reportedOwn = this.inFlight
      return depth
    })
  }

  /** The requests in flight, and those of others that the runtime has reported. */
  load(): number {
    const others = (this.reportedQueue ?? 0) - this.#reportedOwn
    return this.inFlight + Math.max(0, others)
  }

  /** Updates the gauges, because an open breaker becomes half open without an event. */
  show(): void {
    const { metrics, clock } = this.#world
    metrics.upstreamInFlight.at(this.#name).value = this.inFlight
    const { reportedQueue } = this
    if (reportedQueue !== undefined) metrics.queueDepth.at(this.#name).value = reportedQueue
    this.endpoints?.show(clock.now())
    showHealth(metrics, this.#name, this.isHealthy)
    this.credential.show()
    showBreaker(metrics, this.#name, this.breaker.peek(clock.now()))
  }

  /** The result of probes by the gateway or by Kubernetes; undefined before the first. */
  get isHealthy(): boolean | undefined {
    if (this.endpoints !== undefined) return this.endpoints.isHealthy
    return this.health.observedAt === undefined ? undefined : this.health.state === 'healthy'
  }

  /** Why no request may go to the upstream now; undefined if requests may. */
  outBecause(now: number): Out | undefined {
    if (this.#settings.disabled !== undefined) return 'reference unresolved'
    const { drainedUntilMs } = this.#settings
    if (drainedUntilMs !== undefined && this.#world.clock.wall() < drainedUntilMs) return 'drained'
    if (this.#revision?.state === 'mismatch') return 'tokenizer mismatch'
    if (this.coldStart.isCold || this.endpoints?.isEmpty) return 'no endpoint'
    if (this.#prober !== undefined && this.health.state === 'unhealthy') return 'unhealthy'
    if (this.endpoints?.isUnhealthy) return 'unhealthy'
    return this.breaker.permits(now) ? undefined : 'breaker open'
  }

  /**
   * Closes an upstream that left the configuration. The pool stays open for running requests, which may still need a
   * retry, a fallback or the rest of their body; idle connections close by themselves within seconds.
   */
  retire(): void {
    this.coldStart.end()
    this.credential.stop()
    this.endpoints?.retire()
    this.#stopWatching()
    for (const pool of [this.#openSidePool, this.#questionPool]) void pool?.close()
  }

  async destroy(): Promise<void> {
    this.coldStart.end()
    this.fair?.end()
    this.credential.end()
    this.#stopWatching()
    const pools = [this.pool, this.endpoints, this.#openSidePool, this.#questionPool]
    await Promise.all(pools.map((pool) => pool?.destroy()))
  }

  #stopWatching(): void {
    for (const watch of [this.#prober, this.#queueWatch, this.#modelWindow, this.#revision])
      watch?.stop()
  }

  /** Failures from the time without a server do not apply to the server that listens now. */
  #forgive(): void {
    this.health.forget()
    this.endpoints?.forgive()
  }

  #createProber(): Prober {
    const { clock, random } = this.#world
    const transport = transportTo(this.#settings, this.#whole)
    return new Prober(healthSettingsOf(this.#settings.section), this.health, {
      now: clock.now,
      random,
      schedule,
      probe: () =>
        watchedProbe(transport, this.#settings, (none) => none && this.coldStart.unreached()),
    })
  }

  /** The gateway's questions use separate connections, so that a full pool cannot delay them. */
  #sidePool(): Dispatcher {
    this.#openSidePool ??= openPool(reached(this.#settings, this.endpoints), this.#whole, 2)
    return this.#openSidePool
  }

  #breakerChanged(from: BreakerState, to: BreakerState): void {
    showBreaker(this.#world.metrics, this.#name, to)
    const message = `The breaker of upstream "${this.#name}" is ${to}.`
    this.#report(to === 'open' ? 'warn' : 'info', 'breaker', message, { from, to })
  }

  #healthChanged(from: HealthState, to: HealthState): void {
    const message = `Upstream "${this.#name}" is ${to}.`
    this.#report(to === 'healthy' ? 'info' : 'warn', 'health', message, { from, to })
  }

  #report(level: 'info' | 'warn', event: string, message: string, facts: object): void {
    this.#world.log.event(level, event, message, { upstream: this.#name, ...facts })
  }
}
