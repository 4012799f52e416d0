/** The facts that refusals of an upstream have shown about its models, until the process ends. */
import type { UpstreamSettings } from '../../config/snapshot.ts'
import type { Log } from '../../telemetry/log.ts'
import type { Capabilities } from '../../wire/models/capabilities.ts'

/** An upstream has one model at a time; a changed configuration brings another. */
const MODELS_MAX = 16

/** Later facts win; refused members are combined. */
export function withFacts(known: Capabilities, more: Capabilities): Capabilities {
  const refused = [...new Set([...(known.refused ?? []), ...(more.refused ?? [])])]
  return { ...known, ...more, ...(refused.length > 0 && { refused }) }
}

export function isSameFacts(one: Capabilities, other: Capabilities): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}

export class Lessons {
  readonly #upstream: string
  readonly #log: Pick<Log, 'event'>
  /** By model, the oldest first. */
  readonly #facts = new Map<string, Capabilities>()
  /** Cache: settings with these facts. */
  #taught = new WeakMap<UpstreamSettings, UpstreamSettings>()

  constructor(upstream: string, log: Pick<Log, 'event'>) {
    this.#upstream = upstream
    this.#log = log
  }

  /** The same settings for a model that has refused nothing. */
  over(settings: UpstreamSettings): UpstreamSettings {
    if (this.#facts.size === 0) return settings
    const facts = this.#facts.get(settings.model)
    if (facts === undefined) return settings
    const known = this.#taught.get(settings)
    if (known !== undefined) return known
    const capabilities = withFacts(settings.capabilities, facts)
    const taught = Object.freeze({ ...settings, capabilities })
    this.#taught.set(settings, taught)
    return taught
  }

  /** Remembers the facts with which the upstream has accepted a request after a refusal. */
  learn(model: string, facts: Capabilities): void {
    const before = this.#facts.get(model) ?? {}
    const after = withFacts(before, facts)
    if (isSameFacts(before, after)) return
    this.#facts.set(model, after)
    this.#taught = new WeakMap()
    const [oldest] = this.#facts.keys()
    if (this.#facts.size > MODELS_MAX && oldest !== undefined) this.#facts.delete(oldest)
    const learnt = this.about(model)
    const message = `Upstream "${this.#upstream}" taught about model "${model}": ${learnt.join('; ')}.`
    this.#log.event('info', 'lesson', message, { upstream: this.#upstream, model, learnt })
  }

  /** In words, for the log and the status; empty if nothing was learnt. */
  about(model: string): readonly string[] {
    return Object.entries(this.#facts.get(model) ?? {}).map(
      ([name, value]) => `${name}: ${Array.isArray(value) ? value.join(', ') || 'none' : value}`,
    )
  }
}
