/**
 * Assembles the calls of one choice from the pieces of a server. Their index may be shared or missing; id, name and
 * arguments may come late, repeatedly or never. The client gets a call once its name is known.
 */
import { AT_ONCE_BYTES_MAX } from '../../base/heavy-work.ts'
import type { KeptText } from '../../base/kept-text.ts'
import { isRecord, parsed } from '../../json/values.ts'
import type { ToolCallDelta } from '../../wire/inner-form.ts'
import { indexIn } from './blocks.ts'
import { type CallIds, isNumber } from './call-ids.ts'

/** A piece as received. */
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
  /** The arguments so far. */
  arguments: string
  /** Its position among the calls that the client knows. */
  place: number | undefined
  /** How often its arguments were parsed to check whether they are complete. */
  parsed: number
}

/** Later pieces belong to the same call: parsing a long text for each piece would take quadratic time. */
const PARSED_MAX = 16

export class CallPieces {
  readonly #ids: CallIds
  readonly #seed: string
  readonly #kept: KeptText
  readonly #derived: ((place: string) => string) | undefined
  readonly #calls: Call[] = []
  /** Calls that the client does not know yet. */
  #waiting: Call[] = []
  /** Calls by the upstream's index and id, and by the id alone. */
  readonly #known = new Map<string, Call>()
  /** Calls by the upstream's index; a piece without an index uses that of the last piece. */
  readonly #latestAt = new Map<number | undefined, Call>()
  #shown = 0

  /** `seed`: the position of the choice; `derived` creates ids for calls without one. */
  constructor(ids: CallIds, seed: string, kept: KeptText, derived?: (place: string) => string) {
    this.#ids = ids
    this.#seed = seed
    this.#kept = kept
    this.#derived = derived
  }

  /** Whether a call has pieces but no name. */
  get lacksName(): boolean {
    return this.#calls.some(
      ({ name, id, arguments: text }) => name === undefined && (id ?? text.trim()) !== '',
    )
  }

  /** The calls that the client knows. */
  get size(): number {
    return this.#shown
  }

  /** The new parts for the client: calls in order, each once its name is known. Throws AnswerTooLarge. */
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

  /** The remaining parts at the end of the choice. Clients parse the arguments even of a call without any. */
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

/** Another id or name starts another call. So does a name after complete arguments. */
function isAnother(call: Call, { id, name, arguments: part }: CallPiece): boolean {
  if (id !== undefined && call.id !== undefined && id !== call.id) return true
  if (name === undefined || call.name === undefined) return false
  return name !== call.name || (part.trim() !== '' && isWhole(call))
}

/** Arguments longer than an event arrive in pieces. */
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
