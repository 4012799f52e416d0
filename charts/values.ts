/** The values of values.yaml: each with its path, its default, and the comment before it. */
import { isMap, isPair, isScalar, parseDocument } from 'yaml'

export interface Value {
  readonly path: string
  readonly initial: unknown
  readonly meaning: string
}

const MARK = /^\s*--\s*/

export function readValues(text: string): Value[] {
  const { contents } = parseDocument(text)
  return [...below(contents, [])]
}

function* below(node: unknown, path: readonly string[]): Generator<Value> {
  if (!isMap(node)) return
  for (const [index, pair] of node.items.entries()) {
    if (!isPair(pair) || !isScalar(pair.key)) continue
    const here = [...path, String(pair.key.value)]
    // The comment above the first entry of a map is kept with the map.
    const comment = pair.key.commentBefore ?? (index === 0 ? node.commentBefore : undefined)
    const meaning = meaningOf(comment)
    if (meaning === undefined) yield* below(pair.value, here)
    else yield { path: here.join('.'), initial: plain(pair.value), meaning }
  }
}

/** The meaning starts at the last mark; the text before it concerns other values. */
function meaningOf(comment: string | null | undefined): string | undefined {
  const lines = comment?.split('\n') ?? []
  const from = lines.findLastIndex((line) => MARK.test(line))
  if (from === -1) return undefined
  const said = lines.slice(from).map((line) => line.replace(MARK, '').trim())
  return said.join(' ')
}

function plain(node: unknown): unknown {
  return node !== null && typeof node === 'object' && 'toJSON' in node
    ? (node as { toJSON(): unknown }).toJSON() // Every node of the parser has it.
    : node
}
