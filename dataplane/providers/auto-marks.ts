/** Chooses where the gateway adds cache marks if the client sets none. */
import type { Json } from '../json/values.ts'
import type { Cacheable } from '../wire/provider-facts.ts'

/** The parts of a request, in the order in which the model reads them. */
export interface Prompt {
  readonly tools: readonly unknown[]
  readonly system: readonly unknown[]
  readonly turns: readonly Json[]
}

export interface MarkPlaces {
  readonly tools: boolean
  readonly system: boolean
  /** Indices of turns. */
  readonly turns: ReadonlySet<number>
}

/** The next request has one more user turn, so its last turn but one is where this request ends. */
const TURNS = 2
const BYTES_PER_TOKEN = 4
/** A picture or a file counts like a text of this length. */
const MEDIA_BYTES = 4_000
const MEDIA: ReadonlySet<string> = new Set(['data', 'bytes'])

/** Estimates the size up to each place. `takesMark`: whether the API accepts a mark after the turn. */
export function placesIn(
  { tools, system, turns }: Prompt,
  { from, to = Number.POSITIVE_INFINITY }: Cacheable,
  takesMark: (turn: Json) => boolean,
): MarkPlaces {
  let bytes = 0
  const fitsBehind = (part: unknown) => {
    bytes += bytesIn(part)
    return bytes >= from * BYTES_PER_TOKEN && bytes <= to * BYTES_PER_TOKEN
  }
  const places = {
    tools: fitsBehind(tools) && tools.length > 0,
    system: fitsBehind(system) && system.length > 0,
  }
  const fitting = [...turns.keys()].filter((index) => {
    const turn = turns[index] as Json
    return fitsBehind(turn.content) && turn.role === 'user' && takesMark(turn)
  })
  return { ...places, turns: new Set(fitting.slice(-TURNS)) }
}

function bytesIn(value: unknown): number {
  if (typeof value === 'string') return Buffer.byteLength(value)
  if (typeof value !== 'object' || value === null) return 1
  if (Array.isArray(value)) return value.reduce((sum: number, one) => sum + bytesIn(one), 0)
  return Object.entries(value).reduce((sum, [name, one]) => sum + memberBytes(name, one), 0)
}

function memberBytes(name: string, value: unknown): number {
  const bytes = bytesIn(value)
  return name.length + (MEDIA.has(name) ? Math.min(bytes, MEDIA_BYTES) : bytes)
}
