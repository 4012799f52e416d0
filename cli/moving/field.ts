/** A foreign document whose fields are read one by one, with the account of what each of them became. */
import type { ParsedDocument } from '../../dataplane/config/document/document.ts'
import { type Path, showPath } from '../../dataplane/config/judgement/problems.ts'
import { isRecord, valueBelow } from '../../dataplane/json/values.ts'

export type Outcome = 'kept' | 'changed' | 'no_place'

/** A part of the configuration that is written: an object, and one of its members. */
export interface Place {
  readonly owner: object
  readonly member: string
}

export interface Account {
  readonly path: Path
  readonly line: number
  readonly outcome: Outcome
  readonly places: readonly Place[]
  /** The change, or the reason why the field has no place. */
  readonly note: string | undefined
}

const UNREAD = 'gw has no such setting'

export class Source {
  readonly #document: ParsedDocument
  readonly #accounts = new Map<string, Omit<Account, 'path' | 'line'>>()

  constructor(document: ParsedDocument) {
    this.#document = document
  }

  get root(): Field {
    return new Field(this, [])
  }

  valueAt(path: Path): unknown {
    return path.length === 0 ? this.#document.tree : valueBelow(this.#document.tree, ...path)
  }

  /** Every leaf below the path gets this account; a later account adds its place to an earlier one. */
  note(path: Path, account: Omit<Account, 'path' | 'line'>): void {
    for (const leaf of leavesOf(this.valueAt(path), path)) {
      const key = showPath(leaf)
      const before = this.#accounts.get(key)
      const places = [...(before?.places ?? []), ...account.places]
      const isLost = account.outcome === 'no_place' && before !== undefined
      const isWeaker = account.outcome === 'kept' && before?.outcome === 'changed'
      const kept = before !== undefined && (isLost || isWeaker) ? before : account
      this.#accounts.set(key, { ...kept, places })
    }
  }

  /** All leaves in the order of the file. A leaf that no reader named has no place. */
  accounts(): Account[] {
    return leavesOf(this.#document.tree, []).map((path) => ({
      path,
      line: this.#document.positionOf(path).line,
      ...(this.#accounts.get(showPath(path)) ?? {
        outcome: 'no_place' as const,
        places: [],
        note: UNREAD,
      }),
    }))
  }
}

/** One field of the source; it need not exist. */
export class Field {
  readonly source: Source
  readonly path: Path

  constructor(source: Source, path: Path) {
    this.source = source
    this.path = path
  }

  get value(): unknown {
    return this.source.valueAt(this.path)
  }

  get exists(): boolean {
    return this.value != null
  }

  get name(): string {
    return String(this.path.at(-1) ?? '')
  }

  at(...path: Path): Field {
    return new Field(this.source, [...this.path, ...path])
  }

  get items(): readonly Field[] {
    const { value } = this
    return Array.isArray(value) ? value.map((_, index) => this.at(index)) : []
  }

  get members(): readonly Field[] {
    const { value } = this
    return isRecord(value) ? Object.keys(value).map((name) => this.at(name)) : []
  }

  /** A text that is not empty; a number counts as its text. */
  get text(): string | undefined {
    const { value } = this
    const text = typeof value === 'number' ? String(value) : value
    return typeof text === 'string' && text.trim() !== '' ? text.trim() : undefined
  }

  /** A number, also as a text such as "80_000". */
  get number(): number | undefined {
    const { value } = this
    if (typeof value === 'number') return Number.isFinite(value) ? value : undefined
    const isNumber = typeof value === 'string' && /^\d[\d_]*(\.\d+)?(e-?\d+)?$/i.test(value)
    return isNumber ? Number(value.replaceAll('_', '')) : undefined
  }

  /** A truth value, also as the words of older YAML. */
  get flag(): boolean | undefined {
    const { value } = this
    if (typeof value === 'boolean') return value
    if (typeof value !== 'string') return undefined
    if (/^(true|yes|on)$/i.test(value)) return true
    return /^(false|no|off)$/i.test(value) ? false : undefined
  }

  kept(owner: object, member: string): void {
    const places = [{ owner, member }]
    this.source.note(this.path, { outcome: 'kept', places, note: undefined })
  }

  changed(note: string, owner?: object, member = ''): void {
    const places = owner === undefined ? [] : [{ owner, member }]
    this.source.note(this.path, { outcome: 'changed', places, note })
  }

  hasNoPlace(note: string): void {
    this.source.note(this.path, { outcome: 'no_place', places: [], note })
  }
}

/** Scalars, and lists and maps that are empty. */
export function leavesOf(value: unknown, path: Path): Path[] {
  if (Array.isArray(value) && value.length > 0)
    return value.flatMap((entry, index) => leavesOf(entry, [...path, index]))
  if (isRecord(value) && Object.keys(value).length > 0)
    return Object.entries(value).flatMap(([name, entry]) => leavesOf(entry, [...path, name]))
  return value === undefined ? [] : [path]
}
