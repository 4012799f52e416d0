/** Converts the nodes of the YAML library to plain values, within bounds. */
import {
  type Alias,
  type Document,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  type Node,
  type YAMLMap,
} from 'yaml'
import { isMerge, keyName, startOf } from './node-offset.ts'
import { UNSAFE_KEYS } from './tree.ts'

const DEPTH_MAX = 64
/** Values that aliases may repeat in all; a bomb doubles itself past this at once. */
const ALIASED_VALUES_MAX = 100_000
const FAULTS_MAX = 100

export interface Fault {
  readonly offset: number
  readonly message: string
  readonly fix: string
}

export class PlainTree {
  readonly value: unknown
  readonly faults: Fault[] = []
  readonly #anchors = new Map<string, Node>()
  /** The node behind each alias: an anchor may be defined again further down. */
  readonly targets = new Map<Alias, Node>()
  /** Nodes that are being converted: an alias to one of them would never end. */
  readonly #open = new Set<Node>()
  #aliasedValues = 0
  #aliasDepth = 0

  constructor(document: Document.Parsed) {
    this.value = this.#plain(document.contents, 0)
  }

  #plain(node: unknown, depth: number): unknown {
    if (depth > DEPTH_MAX) return this.#fault(node, 'nested too deeply', 'Flatten it.')
    if (this.#aliasDepth > 0) {
      this.#aliasedValues += 1
      if (this.#aliasedValues > ALIASED_VALUES_MAX) {
        return this.#fault(node, 'aliases repeat too many values', 'Write the values out.')
      }
    }
    if (isAlias(node)) return this.#aliased(node, depth)
    if (isNode(node) && 'anchor' in node && typeof node.anchor === 'string') {
      this.#anchors.set(node.anchor, node)
    }
    if (isScalar(node)) return typeof node.value === 'bigint' ? Number(node.value) : node.value
    if (!isSeq(node) && !isMap(node)) return null
    this.#open.add(node)
    const value = isSeq(node)
      ? node.items.map((entry) => this.#plain(entry, depth + 1))
      : this.#map(node, depth)
    this.#open.delete(node)
    return value
  }

  #aliased(alias: Alias, depth: number): unknown {
    const target = this.#anchors.get(alias.source)
    if (target === undefined) {
      const fix = `Define it above with &${alias.source}, or put the text in quotes.`
      return this.#fault(alias, `there is no anchor for the alias *${alias.source}`, fix)
    }
    if (this.#open.has(target)) {
      return this.#fault(alias, `alias *${alias.source} refers to itself`, 'Write the value out.')
    }
    if (this.faults.length > 0) return null
    this.targets.set(alias, target)
    this.#aliasDepth += 1
    const value = this.#plain(target, depth + 1)
    this.#aliasDepth -= 1
    return value
  }

  #map(map: YAMLMap, depth: number): unknown {
    const own = new Map<string, unknown>()
    const merged = new Map<string, unknown>()
    const places = new Map<string, unknown>()
    for (const { key, value } of map.items) {
      const name = keyName(key)
      if (name === undefined) {
        this.#fault(key, 'the name of a field must be plain text', 'Write name: value.')
      } else if (UNSAFE_KEYS.has(name)) {
        this.#fault(key, `the name "${name}" is not allowed`, 'Choose another name.')
      } else if (places.has(name)) {
        this.#fault(key, `"${name}" is written twice in the same place`, 'Remove one of the two.')
      } else if (isMerge(key)) {
        for (const [field, entry] of this.#merged(value, depth)) merged.set(field, entry)
      } else {
        own.set(name, this.#plain(value, depth + 1))
      }
      if (name !== undefined) places.set(name, key)
    }
    return Object.fromEntries([...merged, ...own])
  }

  /** What `<<` brings in; of several sources the first that has a field wins. */
  #merged(node: unknown, depth: number): [string, unknown][] {
    const source = this.#plain(node, depth + 1)
    const sources = Array.isArray(source) ? source.toReversed() : [source]
    return sources.flatMap((fields) => {
      if (typeof fields === 'object' && fields !== null) return Object.entries(fields)
      this.#fault(node, '"<<" merges maps only', 'Refer to a map with *name.')
      return []
    })
  }

  #fault(node: unknown, message: string, fix: string): null {
    if (this.faults.length < FAULTS_MAX) this.faults.push({ offset: startOf(node), message, fix })
    return null
  }
}
