/** Keys in a file: a plain list, or the lists of a configuration and of its keys file. Comments and order stay. */
import { existsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { listBelow, valueBelow } from '../../dataplane/json/values.ts'
import { EditableYaml, textOf } from '../yaml/editable.ts'
import type { Path } from '../yaml/insertion.ts'
import { namesIn, type RouteNames } from './route-names.ts'

export interface EditableKeys extends RouteNames {
  /** The keys of all files. */
  readonly records: readonly unknown[]
  /** Tags that a whole configuration declares. */
  readonly tags: readonly string[] | undefined
  /** The path of the file that gets new records. */
  readonly path: string
  set(index: number, fields: Readonly<Record<string, string>>): void
  add(record: object): void
  /** Writes each file completely or not at all. */
  save(): void
}

/** Throws a sentence if the file has no list of keys. */
export function openKeysFile(path: string): EditableKeys {
  const own = openPart(path, textOf(path))
  const { tree } = own
  const named: unknown = Object(Object(tree).gw).api_keys_file
  const isNamed = typeof named === 'string' && !named.includes('${')
  const other = isNamed ? openNamed(resolve(dirname(path), named)) : undefined
  const section = valueBelow(tree, 'gw')
  return {
    records: [...own.records, ...(other?.records ?? [])],
    ...namesIn(section),
    tags: section === undefined ? undefined : listBelow(section, 'usage', 'tags').map(String),
    path: other?.path ?? path,
    set(index, fields) {
      const { length } = own.records
      if (index < length || other === undefined) own.set(index, fields)
      else other.set(index - length, fields)
    },
    add: (record) => (other ?? own).add(record),
    save() {
      // The new record first, so that one of the keys always works.
      other?.save()
      own.save()
    },
  }
}

/** The file in a configuration may not exist yet. */
function openNamed(path: string) {
  return openPart(path, existsSync(path) ? textOf(path) : '[]\n')
}

function openPart(path: string, text: string) {
  const file = new EditableYaml(path, text)
  const { tree } = file
  const root = rootOf(tree)
  if (root === undefined)
    throw new Error(`${path} has no keys: it needs a list, api_keys: or gw.api_keys:.`)
  return {
    path,
    tree,
    records: listBelow(tree, ...root),
    set: (index: number, fields: Readonly<Record<string, string>>) =>
      file.set([...root, index], fields),
    add: (record: object) => file.add(root, record),
    save: () => file.save(),
  }
}

function rootOf(tree: unknown): Path | undefined {
  if (Array.isArray(tree)) return []
  if ('api_keys' in Object(tree)) return ['api_keys']
  return 'gw' in Object(tree) ? ['gw', 'api_keys'] : undefined
}
