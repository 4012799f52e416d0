/** The probes and load reports of an endpoint, besides requests. */
import { schedule } from '../../base/clock.ts'
import type { UpstreamSettings } from '../../config/snapshot.ts'
import { type HealthSettings, healthSettingsOf, Prober } from '../live/health.ts'
import { watchedProbe } from '../live/probe.ts'
import { scrapeReport } from '../live/queue-watch.ts'
import type { Endpoint } from './endpoint.ts'
import { isPushed } from './pushed.ts'
import type { Reporter } from './reports.ts'
import type { EndpointsWorld } from './world.ts'

export class Upkeep implements Reporter {
  intervalMs = 0
  readonly #endpoint: Endpoint
  readonly #world: EndpointsWorld
  #settings: UpstreamSettings
  #prober: Prober | undefined

  constructor(endpoint: Endpoint, settings: UpstreamSettings, world: EndpointsWorld) {
    this.#endpoint = endpoint
    this.#settings = settings
    this.#world = world
  }

  get isWanted(): boolean {
    return this.#endpoint.isWanted
  }

  set isWanted(wanted: boolean) {
    this.#endpoint.isWanted = wanted
  }

  /** `queueMs`: the interval of reports; undefined: no reports. */
  configure(settings: UpstreamSettings, queueMs: number | undefined): void {
    this.#settings = settings
    this.#probe()
    const { reports } = this.#world
    const was = this.intervalMs
    this.intervalMs = queueMs ?? 0
    if (was === 0 && this.intervalMs > 0) reports.add(this)
    if (was > 0 && this.intervalMs === 0) reports.remove(this)
  }

  stop(): void {
    this.#prober?.stop()
    if (this.intervalMs > 0) this.#world.reports.remove(this)
    this.intervalMs = 0
  }

  async ask(validMs: number): Promise<void> {
    const report = await scrapeReport(this.#endpoint.sidePool, this.#settings).catch(
      () => undefined,
    )
    if (report !== undefined) this.#endpoint.take(report, this.#world.clock.now() + validMs)
  }

  #probe(): void {
    const { healthPath } = this.#settings
    // Kubernetes probes its pods, and lists those that are ready.
    if (healthPath === undefined || isPushed(this.#settings)) {
      this.#prober?.stop()
      this.#prober = undefined
      this.#endpoint.health.forget()
      return
    }
    const settings = healthSettingsOf(this.#settings.section)
    this.#prober ??= this.#createProber(settings)
    this.#prober.configure(settings)
    this.#prober.start()
  }

  #createProber(settings: HealthSettings): Prober {
    const { clock, random } = this.#world
    return new Prober(settings, this.#endpoint.health, {
      now: clock.now,
      random,
      schedule,
      probe: () =>
        watchedProbe(this.#endpoint.transport, this.#settings, (isUnreached) => {
          this.#endpoint.isUnreached = isUnreached
        }),
    })
  }
}
