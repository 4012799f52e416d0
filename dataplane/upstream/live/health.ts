/** Judges the health of an upstream by its probes, and runs the probes. */
import type { UpstreamSection } from '../../schema/index.ts'

export type HealthState = 'healthy' | 'unhealthy'

export interface HealthSettings {
  readonly intervalMs: number
  /** Consecutive successes before the upstream returns to rotation. */
  readonly healthyThreshold: number
  /** Consecutive failures before the upstream leaves the rotation. */
  readonly unhealthyThreshold: number
}

const DEFAULTS = {
  interval_seconds: 10,
  timeout_seconds: 2,
  healthy_threshold: 2,
  unhealthy_threshold: 3,
}

type HealthSection = Pick<UpstreamSection, 'health_check'>

export function healthSettingsOf({
  health_check: settings = DEFAULTS,
}: HealthSection): HealthSettings {
  return {
    intervalMs: settings.interval_seconds * 1000,
    healthyThreshold: settings.healthy_threshold,
    unhealthyThreshold: settings.unhealthy_threshold,
  }
}

/** How long a probe may take. */
export function probeMsOf({ health_check }: HealthSection): number {
  return (health_check ?? DEFAULTS).timeout_seconds * 1000
}

/** Healthy at first, so that a gateway serves immediately after its start. */
export class HealthCheck {
  readonly #onChange: (from: HealthState, to: HealthState) => void
  readonly #onRecovery: () => void
  #settings: HealthSettings
  #state: HealthState = 'healthy'
  /** Consecutive results that contradict the state. */
  #contrary = 0
  /** Successes since the last failure; undefined before the first failure. */
  #regained: number | undefined
  #observedAt: number | undefined

  /**
   * `onRecovery` is called after the successes of a recovery, even if the failures before were too few to make the
   * upstream unhealthy.
   */
  constructor(
    settings: HealthSettings,
    onChange: (from: HealthState, to: HealthState) => void = () => {},
    onRecovery: () => void = () => {},
  ) {
    this.#settings = settings
    this.#onChange = onChange
    this.#onRecovery = onRecovery
  }

  get state(): HealthState {
    return this.#state
  }

  /** When the last probe ended; undefined before the first. */
  get observedAt(): number | undefined {
    return this.#observedAt
  }

  /** Replaces the settings and keeps the state. */
  configure(settings: HealthSettings): void {
    this.#settings = settings
  }

  /** Forgets all probes. */
  forget(): void {
    this.#state = 'healthy'
    this.#contrary = 0
    this.#regained = undefined
    this.#observedAt = undefined
  }

  observe(ok: boolean, now: number): void {
    this.#observedAt = now
    this.#judge(ok)
    if (!ok) this.#regained = 0
    else if (this.#regained !== undefined && ++this.#regained >= this.#settings.healthyThreshold) {
      this.#regained = undefined
      this.#onRecovery()
    }
  }

  #judge(ok: boolean): void {
    const healthy = this.#state === 'healthy'
    if (ok === healthy) {
      this.#contrary = 0
      return
    }
    this.#contrary++
    const { healthyThreshold, unhealthyThreshold } = this.#settings
    if (this.#contrary < (healthy ? unhealthyThreshold : healthyThreshold)) return
    const from = this.#state
    this.#contrary = 0
    this.#state = healthy ? 'unhealthy' : 'healthy'
    this.#onChange(from, this.#state)
  }
}

/** The clock and connections that the prober uses. */
export interface ProbeWorld {
  now(): number
  /** Uniform in [0, 1). */
  random(): number
  /** Calls once, after that number of milliseconds; returns a function that prevents it. */
  schedule(delayMs: number, call: () => void): () => void
  /** Sends one probe, which has its own timeout; a rejection counts as a failure. */
  probe(): Promise<boolean>
}

/** The first probe comes at a random time within a second, so that a thousand upstreams are not dialled at once. */
const FIRST_PROBE_MS_MAX = 1000
/** Random part of the interval, so that replicas do not probe together. */
const JITTER = 0.1

/** Probes at the interval, measured from start to start, one at a time. */
export class Prober {
  readonly #health: HealthCheck
  readonly #world: ProbeWorld
  #intervalMs: number
  #cancel: (() => void) | undefined
  #startedAt: number | undefined
  #probing = false
  #running = false

  constructor(settings: HealthSettings, health: HealthCheck, world: ProbeWorld) {
    this.#intervalMs = settings.intervalMs
    this.#health = health
    this.#world = world
  }

  start(): void {
    if (this.#running) return
    this.#running = true
    // A probe from before a stop is still running; its end schedules the next.
    if (!this.#probing) this.#wait()
  }

  /** Starts no further probe, and drops the result of a running one. */
  stop(): void {
    this.#running = false
    this.#cancel?.()
    this.#cancel = undefined
  }

  /** A new interval counts from the last probe, at once. */
  configure(settings: HealthSettings): void {
    this.#health.configure(settings)
    if (this.#intervalMs === settings.intervalMs) return
    this.#intervalMs = settings.intervalMs
    if (this.#cancel === undefined) return
    this.#cancel()
    this.#wait()
  }

  #wait(): void {
    this.#cancel = this.#world.schedule(this.#delayMs(), () => {
      this.#cancel = undefined
      void this.#probe()
    })
  }

  #delayMs(): number {
    const random = this.#world.random()
    if (this.#startedAt === undefined)
      return random * Math.min(FIRST_PROBE_MS_MAX, this.#intervalMs)
    const due = this.#startedAt + this.#intervalMs * (1 - JITTER + 2 * JITTER * random)
    return Math.max(0, due - this.#world.now())
  }

  async #probe(): Promise<void> {
    this.#probing = true
    this.#startedAt = this.#world.now()
    const ok = await this.#answered()
    this.#probing = false
    if (!this.#running) return
    this.#health.observe(ok, this.#world.now())
    this.#wait()
  }

  async #answered(): Promise<boolean> {
    try {
      return await this.#world.probe()
    } catch {
      return false
    }
  }
}
