/** Keys in a file: a list of its own, or the one of a configuration. Comments and order stay. */
import { readFileSync, realpathSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { type Document, parseDocument } from 'yaml'

type Path = readonly (string | number)[]

export interface KeysDocument {
  readonly records: readonly unknown[]
  /** Of a whole configuration: what names lead to which route. */
  readonly aliases: Readonly<Record<string, string>>
  set(index: number, fields: Readonly<Record<string, string>>): void
  add(record: object): void
  /** Whole or not at all. */
  save(): void
}

/** Throws a sentence where there is no list of keys in it. */
export function openKeysFile(path: string): KeysDocument {
  const text = textOf(path)
  const document = parseDocument(text)
  const [fault] = document.errors
  if (fault !== undefined) throw new Error(`${path} is not valid YAML: ${fault.message}`)
  const tree: unknown = document.toJS({ maxAliasCount: 1000 })
  const root = rootOf(tree)
  if (root === undefined)
    throw new Error(`${path} holds no keys: a list, api_keys: or gw.api_keys: is looked for.`)
  const records = listAt(tree, root)
  return {
    records,
    aliases: Object(Object(Object(tree).gw).aliases),
    set(index, fields) {
      for (const [name, value] of Object.entries(fields))
        document.setIn([...root, index, name], value)
    },
    add: (record) => append(document, root, record),
    save: () => replaceFile(path, document.toString(styleOf(text))),
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new Error(`cannot read ${path}: ${error instanceof Error ? error.message : error}`)
  }
}

/** As the rest is written: `[a]` or `[ a ]`, and lines of any length. */
function styleOf(text: string) {
  const tight = text.match(/[[{](?=[^\s\]}])/g)?.length ?? 0
  const padded = text.match(/[[{] (?=\S)/g)?.length ?? 0
  return { lineWidth: 0, flowCollectionPadding: padded > tight } as const
}

function rootOf(tree: unknown): Path | undefined {
  if (Array.isArray(tree)) return []
  if ('api_keys' in Object(tree)) return ['api_keys']
  return 'gw' in Object(tree) ? ['gw', 'api_keys'] : undefined
}

function listAt(tree: unknown, root: Path): readonly unknown[] {
  const list = root.reduce((at: unknown, part) => Object(at)[part], tree)
  return Array.isArray(list) ? list : []
}

function append(document: Document, root: Path, record: object): void {
  const node = document.createNode(record)
  if (root.length === 0 || document.hasIn(root)) document.addIn(root, node)
  else document.setIn(root, [node])
}

/** A gateway that watches the file must never read half of it. */
function replaceFile(path: string, text: string): void {
  const target = realpathSync(path)
  const next = `${target}.${process.pid}.new`
  writeFileSync(next, text, { mode: statSync(target).mode })
  renameSync(next, target)
}
