/** Finds the position in the text for a path. */
import {
  type Alias,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  type Node,
  type Pair,
  type YAMLMap,
} from 'yaml'
import type { Path } from '../judgement/problems.ts'

/** Merges inside merges are followed this far. */
const MERGE_DEPTH_MAX = 64

type Targets = ReadonlyMap<Alias, Node>

/** Where the value at `path` begins; follows aliases and merges to where the text was written. */
export function offsetOf(root: unknown, targets: Targets, path: Path, atKey: boolean): number {
  let node = follow(root, targets)
  let offset = startOf(node)
  for (const [depth, part] of path.entries()) {
    if (isSeq(node) && typeof part === 'number') {
      const entry = node.items[part]
      if (entry === undefined) return offset
      offset = startOf(entry)
      node = follow(entry, targets)
    } else {
      const pair = isMap(node) ? pairOf(node, String(part), targets) : undefined
      if (pair === undefined) return offset
      const isKeyWanted = atKey && depth === path.length - 1
      const hasText = isScalar(pair.value) && pair.value.source !== ''
      offset = startOf(isKeyWanted || !hasText ? pair.key : pair.value)
      node = follow(pair.value, targets)
    }
  }
  return offset
}

function pairOf(map: YAMLMap, name: string, targets: Targets, depth = 0): Pair | undefined {
  const own = map.items.find((pair) => keyName(pair.key) === name)
  if (own !== undefined || depth > MERGE_DEPTH_MAX) return own
  for (const pair of map.items.filter(({ key }) => isMerge(key))) {
    const merged = follow(pair.value, targets)
    for (const source of isSeq(merged) ? merged.items : [merged]) {
      const found = follow(source, targets)
      const inherited = isMap(found) ? pairOf(found, name, targets, depth + 1) : undefined
      if (inherited !== undefined) return inherited
    }
  }
  return undefined
}

function follow(node: unknown, targets: Targets): unknown {
  return isAlias(node) ? targets.get(node) : node
}

export function keyName(key: unknown): string | undefined {
  if (!isScalar(key) || key.value === null) return undefined
  // `4.10` is the name "4.10", not the number 4.1.
  return typeof key.value === 'string' ? key.value : (key.source ?? String(key.value))
}

export function isMerge(key: unknown): boolean {
  return isScalar(key) && keyName(key) === '<<' && key.type === 'PLAIN'
}

export function startOf(node: unknown): number {
  return isNode(node) ? (node.range?.[0] ?? 0) : 0
}
