/** A YAML file that the tool edits. Comments and order stay, and other bytes too if the layout allows it. */
import {
  existsSync,
  readFileSync,
  realpathSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { type Document, isMap, isScalar, isSeq, parseDocument } from 'yaml'
import { changedText, type Fields, insertedText, type Path } from './insertion.ts'

export class EditableYaml {
  readonly path: string
  /** The plain values of the file as it was read. */
  readonly tree: unknown
  #text: string
  #document: Document
  #isChanged = false

  constructor(path: string, text: string) {
    this.path = path
    this.#text = text
    this.#document = parsed(path, text)
    this.tree = this.#document.toJS({ maxAliasCount: 1000 })
  }

  /** Adds a record to the list at the path; a missing list is added too. */
  add(root: Path, record: object): void {
    this.addAll(root, [record])
  }

  /** The same for many, in the time of one. */
  addAll(root: Path, records: readonly object[]): void {
    if (records.length === 0) return
    const list = root.length === 0 ? this.#document.contents : this.#document.getIn(root, true)
    if (!isSeq(list) && !isAbsent(list)) throw this.#unchangeable(root)
    const next = insertedText(this.#text, this.#document, root, records)
    for (const record of records) append(this.#document, root, record)
    this.#rewrite(next)
  }

  /** The file as it would be saved. */
  get text(): string {
    return this.#text
  }

  /** Sets members of the map at the path. */
  set(path: Path, fields: Fields): void {
    if (!isMap(this.#document.getIn(path, true))) throw this.#unchangeable(path)
    const next = changedText(this.#text, this.#document, path, fields)
    for (const [name, value] of Object.entries(fields))
      this.#document.setIn([...path, name], this.#document.createNode(value))
    this.#rewrite(next)
  }

  /** Writes the file whole or not at all. */
  save(): void {
    if (this.#isChanged) replaceFile(this.path, this.#text)
  }

  /** Such as an alias: a change would also change what it refers to, or lose it. */
  #unchangeable(path: Path): Error {
    const place = path.length === 0 ? 'the list' : path.join('.')
    return new Error(`${this.path}: ${place} cannot be changed. Write it out, without an alias.`)
  }

  /** Read again, so that the places of its nodes are those in the text. */
  #rewrite(next: string | undefined): void {
    const isSame = next !== undefined && isDeepStrictEqual(toTree(next), this.#document.toJS())
    this.#text = isSame ? next : this.#document.toString(styleOf(this.#text))
    this.#document = parsed(this.path, this.#text)
    this.#isChanged = true
  }
}

export function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new Error(`cannot read ${path}: ${error instanceof Error ? error.message : error}`, {
      cause: error,
    })
  }
}

function parsed(path: string, text: string): Document {
  const document = parseDocument(text)
  const [fault] = document.errors
  if (fault !== undefined) throw new Error(`${path} is not valid YAML: ${fault.message}`)
  return document
}

function toTree(text: string): unknown {
  const document = parseDocument(text)
  return document.errors.length > 0 ? undefined : document.toJS({ maxAliasCount: 1000 })
}

function isAbsent(node: unknown): boolean {
  return node == null || (isScalar(node) && node.value === null)
}

/** As the rest is written: `[a]` or `[ a ]`, lists under their name or further in, and lines of any length. */
function styleOf(text: string) {
  const tight = text.match(/[[{](?=[^\s\]}])/g)?.length ?? 0
  const padded = text.match(/[[{] (?=\S)/g)?.length ?? 0
  const indentSeq = !/^( *)[^\s#-][^\n]*:\n\1- /m.test(text)
  return { lineWidth: 0, flowCollectionPadding: padded > tight, indentSeq } as const
}

function append(document: Document, root: Path, record: object): void {
  const list = root.length === 0 ? document.contents : document.getIn(root, true)
  if (!isSeq(list)) {
    document.setIn(root, document.createNode([record]))
    return
  }
  if (list.items.length === 0) list.flow = false
  list.add(document.createNode(record))
}

/** A gateway that watches the file must never read half of it. */
function replaceFile(path: string, text: string): void {
  const isThere = existsSync(path)
  const target = isThere ? realpathSync(path) : path
  const next = `${target}.${process.pid}.new`
  writeFileSync(next, text, { mode: isThere ? statSync(target).mode : 0o600 })
  renameSync(next, target)
}
