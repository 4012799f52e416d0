/** Keys in a file: a plain list, or the list of a configuration and of the file that it names. Comments and order stay. */
import {
  existsSync,
  readFileSync,
  realpathSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, resolve } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { type Document, isSeq, parseDocument } from 'yaml'
import { listBelow, valueBelow } from '../../dataplane/json/values.ts'
import { insertedText, type Path } from './insertion.ts'

export interface EditableKeys {
  /** The keys of all files. */
  readonly records: readonly unknown[]
  /** Aliases of a whole configuration, each with its route. */
  readonly aliases: Readonly<Record<string, string>>
  /** Names of the routes of a whole configuration. */
  readonly routes: readonly string[] | undefined
  /** Tags that a whole configuration declares. */
  readonly tags: readonly string[] | undefined
  /** Where new records go. */
  readonly path: string
  set(index: number, fields: Readonly<Record<string, string>>): void
  add(record: object): void
  /** Each file whole or not at all. */
  save(): void
}

/** Throws a sentence where there is no list of keys in it. */
export function openKeysFile(path: string): EditableKeys {
  const own = openPart(path, textOf(path))
  const { tree } = own
  const named: unknown = Object(Object(tree).gw).api_keys_file
  const isNamed = typeof named === 'string' && !named.includes('${')
  const other = isNamed ? openNamed(resolve(dirname(path), named)) : undefined
  const section = valueBelow(tree, 'gw')
  const routes = valueBelow(section, 'routes')
  return {
    records: [...own.records, ...(other?.records ?? [])],
    aliases: Object(Object(Object(tree).gw).aliases),
    routes: Array.isArray(routes) ? routes.map((one) => String(Object(one).name)) : undefined,
    tags: section === undefined ? undefined : listBelow(section, 'usage', 'tags').map(String),
    path: other?.path ?? path,
    set(index, fields) {
      const { length } = own.records
      if (index < length || other === undefined) own.set(index, fields)
      else other.set(index - length, fields)
    },
    add: (record) => (other ?? own).add(record),
    save() {
      // The new record first: there is no moment in which the old key is ended and the new one unknown.
      other?.save()
      own.save()
    },
  }
}

/** A configuration may name a file that is still to be made. */
function openNamed(path: string) {
  return openPart(path, existsSync(path) ? textOf(path) : '[]\n')
}

function openPart(path: string, first: string) {
  let text = first
  let document = parsed(path, text)
  const tree: unknown = document.toJS({ maxAliasCount: 1000 })
  const root = rootOf(tree)
  if (root === undefined)
    throw new Error(`${path} holds no keys: a list, api_keys: or gw.api_keys: is looked for.`)
  let isChanged = false
  /** Read again, so that the places of its nodes are those in the text. */
  const rewrite = (next: string) => {
    text = next
    document = parsed(path, text)
    isChanged = true
  }
  return {
    path,
    tree,
    records: listBelow(tree, ...root),
    set(index: number, fields: Readonly<Record<string, string>>) {
      for (const [name, value] of Object.entries(fields))
        document.setIn([...root, index, name], value)
      rewrite(document.toString(styleOf(text)))
    },
    add(record: object) {
      const next = insertedText(text, document, root, record)
      append(document, root, record)
      const isSame = next !== undefined && isDeepStrictEqual(toTree(next), document.toJS())
      rewrite(isSame ? next : document.toString(styleOf(text)))
    },
    save() {
      if (isChanged) replaceFile(path, text)
    },
  }
}

function parsed(path: string, text: string) {
  const document = parseDocument(text)
  const [fault] = document.errors
  if (fault !== undefined) throw new Error(`${path} is not valid YAML: ${fault.message}`)
  return document
}

function toTree(text: string): unknown {
  const document = parseDocument(text)
  return document.errors.length > 0 ? undefined : document.toJS({ maxAliasCount: 1000 })
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new Error(`cannot read ${path}: ${error instanceof Error ? error.message : error}`)
  }
}

/** As the rest is written: `[a]` or `[ a ]`, lists under their name or further in, and lines of any length. */
function styleOf(text: string) {
  const tight = text.match(/[[{](?=[^\s\]}])/g)?.length ?? 0
  const padded = text.match(/[[{] (?=\S)/g)?.length ?? 0
  const indentSeq = !/^( *)[^\s#-][^\n]*:\n\1- /m.test(text)
  return { lineWidth: 0, flowCollectionPadding: padded > tight, indentSeq } as const
}

function rootOf(tree: unknown): Path | undefined {
  if (Array.isArray(tree)) return []
  if ('api_keys' in Object(tree)) return ['api_keys']
  return 'gw' in Object(tree) ? ['gw', 'api_keys'] : undefined
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
