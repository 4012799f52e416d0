/** `/metrics` in the format that the reader requests: text, or OpenMetrics, the only one with exemplars. */
import { setImmediate as turn } from 'node:timers/promises'
import { type OpenMetricsContentType, Registry } from 'prom-client'

/** The number of series that are written in one turn of the event loop, between which requests are served. */
const SERIES_IN_A_TURN = 500
/** A family begins with its help and its type. */
const HEAD_LINES = /^(?:#.*\n){2}/

export interface Exposition {
  readonly type: string
  readonly text: string
}

/** The form of prom-client's families; its types omit get(). */
interface ExposedMetric {
  readonly name: string
  readonly type: string
  readonly values: readonly unknown[]
}

interface MetricFamily {
  get(): Promise<ExposedMetric>
  /** Some families of prom-client have a faster way. */
  getForPromString?(): Promise<ExposedMetric>
}

export class Expositions {
  readonly #text: Registry
  readonly #openMetrics: Registry<OpenMetricsContentType>
  readonly #shared = {
    text: new Shared(() => this.#render(false)),
    openMetrics: new Shared(() => this.#render(true)),
  }

  constructor(registry: Registry) {
    this.#text = registry
    const open = openRegistry()
    // prom-client adds or removes _total itself, depending on the format.
    for (const family of registry.getMetricsAsArray())
      open.registerMetric({
        name: family.name,
        async get() {
          const read = await (family as unknown as MetricFamily).get()
          if (read.type !== 'counter') return read
          return { ...read, name: read.name.replace(/_total$/, '') }
        },
      } as never)
    this.#openMetrics = open
  }

  render(accept: string | undefined): Promise<Exposition> {
    const isOpen = accept?.includes('application/openmetrics-text') === true
    return (isOpen ? this.#shared.openMetrics : this.#shared.text).get()
  }

  async #render(isOpen: boolean): Promise<Exposition> {
    const registry = isOpen ? this.#openMetrics : this.#text
    const { contentType: type } = registry
    const families = registry.getMetricsAsArray() as unknown as readonly MetricFamily[]
    // All at once, because some of them wait for the same answer of the store.
    const reads = await Promise.all(
      families.map((family) => family.getForPromString?.() ?? family.get()),
    )
    const texts: string[] = []
    for (const read of reads) texts.push(await written(read, isOpen))
    return { type, text: isOpen ? `${texts.join('\n')}\n# EOF\n` : `${texts.join('\n\n')}\n` }
  }
}

/** Writes one text at a time. Scrapes that arrive meanwhile share the next one, so that it includes everything before them. */
class Shared {
  readonly #write: () => Promise<Exposition>
  #current: Promise<Exposition> | undefined
  #next: Promise<Exposition> | undefined

  constructor(write: () => Promise<Exposition>) {
    this.#write = write
  }

  get(): Promise<Exposition> {
    if (this.#current === undefined) return this.#begin()
    const begin = () => {
      this.#next = undefined
      return this.#begin()
    }
    this.#next ??= this.#current.then(begin, begin)
    return this.#next
  }

  #begin(): Promise<Exposition> {
    const current = this.#write().finally(() => {
      if (this.#current === current) this.#current = undefined
    })
    this.#current = current
    return current
  }
}

/** One family, as prom-client writes it. */
async function written(read: ExposedMetric, isOpen: boolean): Promise<string> {
  const { name, values } = read
  const parts: string[] = []
  for (let from = 0; from === 0 || from < values.length; from += SERIES_IN_A_TURN) {
    if (from > 0) await turn()
    const part = { ...read, values: values.slice(from, from + SERIES_IN_A_TURN) }
    const registry = isOpen ? openRegistry() : new Registry()
    registry.registerMetric({ name, get: async () => part } as never)
    const text = await registry.getSingleMetricAsString(name)
    parts.push(from === 0 ? text : text.replace(HEAD_LINES, ''))
  }
  return parts.join('\n')
}

function openRegistry(): Registry<OpenMetricsContentType> {
  const open = new Registry<OpenMetricsContentType>()
  open.setContentType(Registry.OPENMETRICS_CONTENT_TYPE)
  return open
}
