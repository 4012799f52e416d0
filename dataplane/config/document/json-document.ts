/**
 * Reads documents that are JSON, as programs write them, and finds the same places as the reader of YAML. It exists for
 * its speed: 10,000 tenants take 30 ms instead of 1,200 (`test/bench/micro/read-json-configuration.ts`).
 */
import { parseJson } from '../../json/parse.ts'
import type { Path } from '../judgement/problems.ts'
import { UNSAFE_KEYS } from './tree.ts'

export interface JsonDocument {
  readonly value: unknown
  /** Where the value at `path` begins, or its key for a collection, an empty text, or on request. */
  offsetOf(path: Path, atKey: boolean): number
}

const DEPTH_MAX = 64

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_LIST = 0x5b
const CLOSE_LIST = 0x5d
const OPEN_MAP = 0x7b
const CLOSE_MAP = 0x7d
const SPACE = 0x20

/** Undefined if the text is not JSON, or if the YAML reader would report a problem. */
export function readJson(text: string): JsonDocument | undefined {
  if (!/^\s*[{[]/.test(text)) return undefined
  let value: unknown
  try {
    value = parseJson(text)
  } catch {
    return undefined
  }
  const outline = new Outline(text)
  if (!outline.isOrdinary) return undefined
  return { value, offsetOf: (path, atKey) => outline.offsetOf(path, atKey) }
}

/** Positions of all values in valid JSON: one entry a value, parents before children. */
class Outline {
  /** False when a name is there twice, is not allowed or is written with escapes, or when it is nested too deeply. */
  readonly isOrdinary: boolean
  readonly #text: string
  readonly #starts: number[] = []
  /** Offset of the key in a map, else -1. */
  readonly #keys: number[] = []
  /** Index of the entry after the children of this one. */
  readonly #ends: number[] = []
  #at = 0

  constructor(text: string) {
    this.#text = text
    this.isOrdinary = this.#read(-1, 0)
  }

  offsetOf(path: Path, atKey: boolean): number {
    let entry = 0
    let offset = this.#start(0)
    for (const [depth, part] of path.entries()) {
      const child = this.#child(entry, part)
      if (child === undefined) return offset
      const key = this.#keys[child] ?? -1
      const isKeyWanted = (atKey && depth === path.length - 1) || !this.#hasText(child)
      offset = key !== -1 && isKeyWanted ? key : this.#start(child)
      entry = child
    }
    return offset
  }

  #child(parent: number, part: string | number): number | undefined {
    const kind = this.#text.charCodeAt(this.#start(parent))
    const isList = kind === OPEN_LIST
    if (!isList && kind !== OPEN_MAP) return undefined
    if (isList && typeof part !== 'number') return undefined
    const quoted = `"${part}"`
    const end = this.#end(parent)
    let index = 0
    for (let child = parent + 1; child < end; child = this.#end(child)) {
      const isIt = isList ? index === part : this.#text.startsWith(quoted, this.#keys[child])
      if (isIt) return child
      index++
    }
    return undefined
  }

  #hasText(entry: number): boolean {
    const start = this.#start(entry)
    const first = this.#text.charCodeAt(start)
    if (first === OPEN_LIST || first === OPEN_MAP) return false
    return first !== QUOTE || this.#text.charCodeAt(start + 1) !== QUOTE
  }

  #start(entry: number): number {
    return this.#starts[entry] ?? 0
  }

  #end(entry: number): number {
    return this.#ends[entry] ?? Number.POSITIVE_INFINITY
  }

  /** Reads a value with its children. Returns whether it is ordinary. */
  #read(key: number, depth: number): boolean {
    if (depth > DEPTH_MAX) return false
    const entry = this.#starts.length
    const first = this.#skipSpace()
    this.#starts.push(this.#at)
    this.#keys.push(key)
    this.#ends.push(0)
    if (first === OPEN_MAP) {
      if (!this.#readMap(depth)) return false
    } else if (first === OPEN_LIST) {
      if (!this.#readList(depth)) return false
    } else if (first === QUOTE) {
      this.#skipText()
    } else {
      this.#skipWord()
    }
    this.#ends[entry] = this.#starts.length
    return true
  }

  #readMap(depth: number): boolean {
    const names = new Set<string>()
    this.#at++
    while (this.#skipSpace() !== CLOSE_MAP) {
      const key = this.#at
      this.#skipText()
      const name = this.#text.slice(key + 1, this.#at - 1)
      if (names.has(name) || UNSAFE_KEYS.has(name) || name.includes('\\')) return false
      names.add(name)
      this.#skip(COLON)
      if (!this.#read(key, depth + 1)) return false
      this.#skip(COMMA)
    }
    this.#at++
    return true
  }

  #readList(depth: number): boolean {
    this.#at++
    while (this.#skipSpace() !== CLOSE_LIST) {
      if (!this.#read(-1, depth + 1)) return false
      this.#skip(COMMA)
    }
    this.#at++
    return true
  }

  /** Returns the next character without consuming it. */
  #skipSpace(): number {
    while (this.#text.charCodeAt(this.#at) <= SPACE) this.#at++
    return this.#text.charCodeAt(this.#at)
  }

  #skip(sign: number): void {
    if (this.#skipSpace() === sign) this.#at++
  }

  #skipText(): void {
    do this.#at = this.#text.indexOf('"', this.#at + 1)
    while (this.#isEscaped())
    this.#at++
  }

  #isEscaped(): boolean {
    let before = this.#at - 1
    while (this.#text.charCodeAt(before) === BACKSLASH) before--
    return (this.#at - before) % 2 === 0
  }

  #skipWord(): void {
    let next = this.#text.charCodeAt(this.#at)
    while (next > SPACE && next !== COMMA && next !== CLOSE_LIST && next !== CLOSE_MAP) {
      this.#at++
      next = this.#text.charCodeAt(this.#at)
    }
  }
}
