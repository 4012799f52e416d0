/**
 * The calls of one choice out of the pieces that a server sends: their index may be shared or missing, and id, name or
 * arguments may come late, again or not at all. A call reaches the client once it has its name.
 */
import { AT_ONCE_BYTES_MAX } from '../../base/heavy-work.ts'
import type { KeptText } from '../../base/kept-text.ts'
import { isRecord, parsed } from '../../json/values.ts'
import type { ToolCallDelta } from '../../wire/inner-form.ts'
import { indexIn } from './blocks.ts'
import { type CallIds, isNumber } from './call-ids.ts'

/** A piece as it came. */
export interface CallPiece {
  readonly index: number | undefined
  readonly id: string | undefined
  readonly name: string | undefined
  readonly arguments: string
}

interface Call {
  /** The upstream's own id. */
  id: string | undefined
  name: string | undefined
  /** So far. */
  arguments: string
  /** Its place among the calls that the client knows. */
  place: number | undefined
  /** The number of times that its arguments were parsed to see whether they are whole. */
  parsed: number
}

/** Later pieces belong to the call: to parse a long text again for each piece would take quadratic time. */
const PARSED_MAX = 16

export class CallPieces {
  readonly #ids: CallIds
  readonly #seed: string
  readonly #kept: KeptText
  readonly #derived: ((place: string) => string) | undefined
  readonly #calls: Call[] = []
  /** Those that the client does not know yet. */
  #waiting: Call[] = []
  /** By the upstream's index and id, and by the id alone. */
  readonly #known = new Map<string, Call>()
  /** By the upstream's index; that of the last piece for pieces without one. */
  readonly #latestAt = new Map<number | undefined, Call>()
  #shown = 0

  /** `seed` is the place of the choice; `derived` makes the ids of calls without one. */
  constructor(ids: CallIds, seed: string, kept: KeptText, derived?: (place: string) => string) {
    this.#ids = ids
    this.#seed = seed
    this.#kept = kept
    this.#derived = derived
  }

  /** Whether a call has no name, though something was said of it. */
  get lacksName(): boolean {
    return this.#calls.some(
      ({ name, id, arguments: text }) => name === undefined && (id ?? text.trim()) !== '',
    )
  }

  /** The calls that the client knows. */
  get size(): number {
    return this.#shown
  }

  /** The news for the client: calls in their order, each once it has its name. Throws AnswerTooLarge. */
  add(piece: CallPiece): ToolCallDelta[] {
    const { index, id, name, arguments: part } = piece
    // The reader of the events refuses it.
    if (index !== undefined && indexIn(index) === undefined) return [{ index, arguments: '' }]
    const call = this.#callOf(piece)
    this.#note(call, piece)
    this.#kept.keep(part)
    call.id ??= id
    call.name ??= name
    call.arguments += part
    if (call.place !== undefined) return [{ index: call.place, arguments: part }]
    const unnamed = this.#waiting.findIndex((one) => one.name === undefined)
    const named = this.#waiting.splice(0, unnamed === -1 ? this.#waiting.length : unnamed)
    return named.map((one) => this.#show(one))
  }

  /** The rest of the calls at the end of the choice: clients parse the arguments of a call without any. */
  end(): ToolCallDelta[] {
    const named = this.#waiting.filter(({ name }) => name !== undefined)
    this.#waiting = []
    const shown = named.map((call) => this.#show(call))
    const empty = this.#calls.filter(({ arguments: text }) => text.trim() === '')
    for (const call of empty) {
      if (call.place === undefined) continue
      call.arguments = '{}'
      shown.push({ index: call.place, arguments: '{}' })
    }
    return shown
  }

  #show(call: Call): ToolCallDelta {
    const index = this.#shown++
    call.place = index
    const place = `${this.#seed}/${index}`
    const isUsable = call.id !== undefined && !isNumber(call.id)
    const id = this.#ids.of(isUsable ? call.id : (this.#derived?.(place) ?? call.id), place)
    return { index, id, name: call.name ?? '', arguments: call.arguments }
  }

  #callOf(piece: CallPiece): Call {
    const { index, id } = piece
    const known = id === undefined ? undefined : this.#known.get(keyOf(index, id))
    const near = known ?? this.#latestAt.get(index)
    if (near !== undefined && !isAnother(near, piece)) return near
    this.#kept.keepEntry(id ?? '', piece.name ?? '')
    const call: Call = { id, name: undefined, arguments: '', place: undefined, parsed: 0 }
    this.#calls.push(call)
    this.#waiting.push(call)
    return call
  }

  #note(call: Call, { index, id }: CallPiece): void {
    this.#latestAt.set(index, call).set(undefined, call)
    if (id !== undefined) this.#known.set(keyOf(index, id), call).set(keyOf(undefined, id), call)
  }
}

/** Another id or another name is another call, and so is a name behind arguments that are whole. */
function isAnother(call: Call, { id, name, arguments: part }: CallPiece): boolean {
  if (id !== undefined && call.id !== undefined && id !== call.id) return true
  if (name === undefined || call.name === undefined) return false
  return name !== call.name || (part.trim() !== '' && isWhole(call))
}

/** Longer arguments than an event holds come in pieces. */
function isWhole(call: Call): boolean {
  const { arguments: text } = call
  if (text.length > AT_ONCE_BYTES_MAX || call.parsed >= PARSED_MAX) return false
  if (!text.trimEnd().endsWith('}')) return false
  call.parsed++
  return isRecord(parsed(text))
}

function keyOf(index: number | undefined, id: string): string {
  return `${index} ${id}`
}
