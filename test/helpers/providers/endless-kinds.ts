/** The kinds of events in a recorded stream, each to be repeated without end: unchanged, or always new. */
import type { WireEvent } from '../../../dataplane/wire/provider.ts'

/** One kind of event, with the state of its stream at that point. */
export interface Kind {
  readonly name: string
  /** The events before it. */
  readonly before: readonly WireEvent[]
  /** The event when it is sent for the nth time. */
  at(times: number): WireEvent
}

interface Variant {
  readonly name: string
  /** The sent member, if the variant changes it. */
  change(name: string, value: unknown): unknown
  /** Members that the variant adds to an object of this name. */
  add?(name: string): Readonly<Record<string, unknown>>
}

/** Placeholder for the number of times; with the quotes around it, for the number itself. */
const TIMES = '#times#'
const NUMBER = '#number#'
const LONG = 'x'.repeat(2_000)
const INDEX = /index$/i
const NAME = /^(id|.*_id|.*Id|name|signature|data|thoughtSignature)$/

/** Some at once, so that few events show the cost of many. */
const MORE = Object.fromEntries(Array.from({ length: 10 }, (_, at) => [`m${at}_${TIMES}`, 1]))

const VARIANTS: readonly Variant[] = [
  { name: 'the same', change: (_, value) => value },
  {
    name: 'ever new indices, ids and names',
    change(name, value) {
      if (INDEX.test(name) && typeof value === 'number') return NUMBER
      return NAME.test(name) && typeof value === 'string' ? `${value}${TIMES}` : value
    },
  },
  {
    name: 'ever new ids',
    change: (name, value) =>
      NAME.test(name) && typeof value === 'string' ? `${value}${TIMES}` : value,
  },
  {
    name: 'long texts as indices',
    change: (name, value) =>
      INDEX.test(name) && typeof value === 'number' ? `${TIMES}${LONG}` : value,
  },
  {
    name: 'ever new members of usage and input',
    change: (_, value) => value,
    add: (name) => (/usage|^input$|^args$/i.test(name) ? MORE : {}),
  },
]

/** Each kind of event of these streams, in each variant that makes another event of it. */
export function kindsOf(streams: readonly (readonly WireEvent[])[]): Kind[] {
  const seen = new Set<string>()
  const kinds: Kind[] = []
  for (const events of streams) {
    for (const [place, { event, data }] of events.entries()) {
      const json = jsonOf(data)
      const shape = `${event} ${JSON.stringify(shapeOf(json))}`
      if (json === undefined || seen.has(shape)) continue
      seen.add(shape)
      kinds.push(...variantsOf({ event, json, before: events.slice(0, place) }))
    }
  }
  return kinds
}

/** A whole stream repeated, with new ids each time. */
export function overAgain(events: readonly WireEvent[]): Kind[] {
  const rounds = events.flatMap(({ event, data }) => {
    const json = jsonOf(data)
    return json === undefined
      ? []
      : variantsOf({ event, json, before: [] }).filter(({ name }) => name.endsWith('new ids'))
  })
  const at = (times: number) => (rounds[times % rounds.length] as Kind).at(times)
  return rounds.length === 0 ? [] : [{ name: 'all events over again', before: [], at }]
}

interface Recorded {
  readonly event: string
  readonly json: unknown
  readonly before: readonly WireEvent[]
}

function variantsOf({ event, json, before }: Recorded): Kind[] {
  const texts = new Set<string>()
  return VARIANTS.flatMap((variant) => {
    const text = JSON.stringify(changed(json, '', variant))
    if (texts.has(text)) return []
    texts.add(text)
    const at = (times: number) => ({
      event,
      data: text.replaceAll(`"${NUMBER}"`, String(times)).replaceAll(TIMES, String(times)),
    })
    return [{ name: `${event} ${text.slice(0, 300)}: ${variant.name}`, before, at }]
  })
}

function changed(value: unknown, name: string, variant: Variant): unknown {
  if (Array.isArray(value)) return value.map((one) => changed(one, name, variant))
  if (typeof value !== 'object' || value === null) return variant.change(name, value)
  const members = Object.entries(value).map(([own, one]) => [own, changed(one, own, variant)])
  return { ...Object.fromEntries(members), ...variant.add?.(name) }
}

/** Names and types of all members, and the words that distinguish events of one form. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return [...new Set(value.map((one) => JSON.stringify(shapeOf(one))))]
  if (typeof value !== 'object' || value === null) return typeof value
  return Object.entries(value).map(([name, one]) => [name, name === 'type' ? one : shapeOf(one)])
}

function jsonOf(data: string): unknown {
  try {
    return JSON.parse(data)
  } catch {
    return undefined
  }
}
