/** Activates a checked configuration as a whole or not at all, and remembers the result. */
import { dirname, resolve } from 'node:path'
import type { Loaded } from '../config/apart/loaded.ts'
import { renderProblem } from '../config/judgement/problems.ts'
import { clientAuthOf, type ListenerTls, stepBack } from '../config/listener-certificate.ts'
import { compile, type Snapshot } from '../config/snapshot.ts'
import type { Section } from '../schema/index.ts'
import type { Signals } from '../telemetry/otlp/signals.ts'
import { Tracers } from '../telemetry/tracing/tracers.ts'
import type { Targets } from '../upstream/live/targets.ts'
import { UsageSinks } from '../usage/events/sinks.ts'
import { activeOf } from './active.ts'
import { beginSeries } from './first-series.ts'
import type { Gateway } from './gateway.ts'
import { leadServices } from './services.ts'

export interface ReloadStatus {
  readonly result: 'success' | 'failure'
  /** ISO 8601. */
  readonly at: string
  /** Rendered problems of the document that was refused. */
  readonly errors: readonly string[]
}

/** Settings that wait for a restart, because listeners are bound once, and workers are started once. */
const BOUND_ONCE = [
  'listen_address',
  'listen_port',
  'metrics_port',
  'admin_port',
  'workers',
] as const

export class Activation {
  loaded: Loaded
  last: ReloadStatus
  /** Changed fields of the active configuration that apply only after the next start. */
  waitsForStart: readonly string[] = []
  readonly #gateway: Gateway
  readonly #targets: Targets
  readonly #tracers = new Tracers()
  readonly #sinks = new UsageSinks()
  readonly #signals: Signals | undefined
  /** The absolute path of the file at the start. */
  readonly file: string
  readonly folder: string
  /** The settings of the start that wait for a restart. */
  readonly #bound: BoundSettings

  /** `signals`: absent if the process sends neither metrics nor logs. */
  constructor(gateway: Gateway, targets: Targets, loaded: Loaded, signals?: Signals) {
    this.#gateway = gateway
    this.#signals = signals
    beginSeries(gateway.metrics, gateway.active.snapshot)
    this.#send()
    this.#targets = targets
    this.loaded = loaded
    this.file = resolve(loaded.file)
    this.folder = dirname(loaded.file)
    this.#bound = boundOf(gateway.active.snapshot.section)
    this.last = { result: 'success', at: this.#time(), errors: [] }
  }

  /** True in a pod, which accepts only signed documents. */
  get isReadOnly(): boolean {
    return this.loaded.delivered !== undefined
  }

  /** Returns whether the configuration was accepted. */
  replace(load: () => Loaded): boolean {
    const gateway = this.#gateway
    const { errors, loaded, snapshot } = this.#attempt(load)
    if (loaded === undefined || snapshot === undefined) {
      this.#failed(errors)
      return false
    }
    this.#warnOfBoundOnce(snapshot.section)
    gateway.traces.resize(snapshot.section.telemetry.trace_ring)
    gateway.active = activeOf(snapshot, this.#targets.activate(snapshot))
    gateway.followInStore(snapshot.section)
    gateway.objectives.follow(snapshot.section)
    gateway.rollouts.follow(snapshot)
    const { routes } = snapshot
    gateway.shadows.retain((name) => routes.get(name)?.section.shadow !== undefined)
    leadServices(gateway, snapshot.section)
    this.#send()
    this.loaded = loaded
    this.last = { result: 'success', at: this.#time(), errors: [] }
    gateway.metrics.reloads.at('success').value++
    gateway.metrics.reloadedAt.at().value = gateway.clock.wall() / 1000
    this.#forgetSeries()
    beginSeries(gateway.metrics, snapshot)
    gateway.log.event('info', 'config_reload', 'The configuration was taken.', {
      result: 'success',
      hash: snapshot.hash,
    })
    return true
  }

  /** Sends traces, usage events, metrics and logs to the destinations of the configuration. */
  #send(): void {
    this.#tracers.follow(this.#gateway)
    this.#sinks.follow(this.#gateway)
    this.#signals?.follow(this.#gateway)
  }

  #attempt(load: () => Loaded): { loaded?: Loaded; snapshot?: Snapshot; errors: string[] } {
    try {
      const loaded = load()
      if (loaded.configuration !== undefined) {
        const snapshot = compile(loaded.configuration, loaded.delivered)
        const fault = stepBack(this.#tls, snapshot.section.gateway.tls)
        return fault === undefined ? { loaded, snapshot, errors: [] } : { errors: [fault] }
      }
      const errors = loaded.problems
        .filter(({ severity }) => severity === 'error')
        .map(renderProblem)
      return { errors }
    } catch (error) {
      return { errors: [error instanceof Error ? error.message : String(error)] }
    }
  }

  get #tls(): ListenerTls | undefined {
    return this.#gateway.active.snapshot.section.gateway.tls
  }

  #failed(errors: readonly string[]): void {
    const { metrics, log } = this.#gateway
    this.last = { result: 'failure', at: this.#time(), errors }
    metrics.reloads.at('failure').value++
    log.event('error', 'config_reload', 'The new configuration was refused; the old one stays.', {
      result: 'failure',
      reason: errors[0],
      errors,
    })
  }

  #warnOfBoundOnce(fresh: Section): void {
    const fields = changesOf(this.#bound, boundOf(fresh))
    this.waitsForStart = fields.map((field) => `gw.${field}`)
    for (const field of fields) {
      const message = `gw.${field} takes effect at the next start.`
      this.#gateway.log.event('warn', 'config_reload', message)
    }
  }

  /** Series of removed routes and upstreams would grow forever. */
  #forgetSeries(): void {
    const { metrics, active } = this.#gateway
    for (const family of Object.values(metrics)) {
      family.retain('route', (name) => name === 'none' || active.snapshot.routes.has(name))
      family.retain('upstream', (name) => name === 'none' || active.snapshot.upstreams.has(name))
    }
  }

  #time(): string {
    return new Date(this.#gateway.clock.wall()).toISOString()
  }
}

/** Texts by the names of settings. */
export type BoundSettings = Readonly<Record<string, string>>

/** The settings of which a change waits for a restart. */
export function boundOf(section: Section): BoundSettings {
  const { gateway } = section
  return {
    ...Object.fromEntries(BOUND_ONCE.map((name) => [`gateway.${name}`, String(gateway[name])])),
    'gateway.tls': securityOf(gateway),
    'rate_limits.backend, .redis or state_dir': storeOf(section),
  }
}

/** The names of the settings that differ. */
export function changesOf(before: BoundSettings, now: BoundSettings): string[] {
  return Object.keys(before).filter((name) => before[name] !== now[name])
}

/** A running listener keeps TLS, or no TLS, and its rule on client certificates. */
function securityOf({ tls }: Section['gateway']): string {
  return tls === undefined ? 'plain' : clientAuthOf(tls)
}

/** The settings of the store of which a change waits for a restart. */
function storeOf({ rate_limits, state_dir }: Section): string {
  const redis = rate_limits?.backend === 'redis' ? rate_limits.redis : undefined
  if (redis === undefined) return JSON.stringify([state_dir])
  const { fail_open: _, timeout_ms: __, ...bound } = redis
  return JSON.stringify([bound])
}
