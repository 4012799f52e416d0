/** `/metrics` in the format that the reader asks for: text, or OpenMetrics, which alone has exemplars. */
import { type OpenMetricsContentType, Registry } from 'prom-client'

export interface Exposition {
  readonly type: string
  readonly text: string
}

/** As prom-client's families answer; its types leave get() out. */
interface Read {
  readonly name: string
  readonly type: string
}

export class Expositions {
  readonly #text: Registry
  readonly #openMetrics: Registry<OpenMetricsContentType>

  constructor(registry: Registry) {
    this.#text = registry
    const open = new Registry<OpenMetricsContentType>()
    open.setContentType(Registry.OPENMETRICS_CONTENT_TYPE)
    // prom-client adds _total by itself there, and takes it from the names of what it is given: each format has its own.
    for (const family of registry.getMetricsAsArray())
      open.registerMetric({
        name: family.name,
        async get() {
          const read = await (family as unknown as { get(): Promise<Read> }).get()
          if (read.type !== 'counter') return read
          return { ...read, name: read.name.replace(/_total$/, '') }
        },
      } as never)
    this.#openMetrics = open
  }

  async render(accept: string | undefined): Promise<Exposition> {
    const isOpen = accept?.includes('application/openmetrics-text') === true
    const registry = isOpen ? this.#openMetrics : this.#text
    return { type: registry.contentType, text: await registry.metrics() }
  }
}
