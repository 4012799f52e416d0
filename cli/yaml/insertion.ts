/** Adds records and members to the text of a file. Every other byte stays, if the file's layout allows it. */
import { Document, isMap, isScalar, isSeq, type Node, visit, type YAMLMap } from 'yaml'

export type Path = readonly (string | number)[]
export type Fields = Readonly<Record<string, unknown>>

/** undefined if the list has to be rewritten. */
export function insertedText(
  text: string,
  document: Document,
  root: Path,
  records: readonly object[],
): string | undefined {
  const list = root.length === 0 ? document.contents : document.getIn(root, true)
  if (isSeq(list) && list.flow !== true && list.items.length > 0) {
    const [first] = list.items
    const indent = /^( *)- /.exec(lineAt(text, startOf(first as Node)))?.[1]
    return indent === undefined ? undefined : spliced(text, endOf(list), records, indent)
  }
  if (list !== undefined || root.length === 0) return undefined
  const parent = root.length === 1 ? document.contents : document.getIn(root.slice(0, -1), true)
  if (!isMap(parent) || parent.flow === true) return undefined
  const key = parent.items[0]?.key as Node | undefined
  if (key === undefined) return undefined
  const indent = /^ */.exec(lineAt(text, startOf(key)))?.[0] ?? ''
  return spliced(text, endOf(parent), { [String(root.at(-1))]: records }, indent)
}

/** The text with these members in the map at the path; undefined if the map has to be rewritten. */
export function changedText(
  text: string,
  document: Document,
  path: Path,
  fields: Fields,
): string | undefined {
  const map = document.getIn(path, true)
  if (!isMap(map) || map.items.length === 0) return undefined
  const added = Object.entries(fields).filter(([name]) => !map.has(name))
  let next = text
  // The end comes first, so that earlier positions stay valid.
  if (added.length > 0) {
    const more = Object.fromEntries(added)
    const longer = map.flow === true ? inFlow(text, map, more) : inBlock(text, map, more)
    if (longer === undefined) return undefined
    next = longer
  }
  const changed = Object.keys(fields).filter((name) => map.has(name))
  const values = changed.map((name) => ({ name, node: map.get(name, true) }))
  if (values.some(({ node }) => !isScalar(node))) return undefined
  const places = values.map(({ name, node }) => ({ name, start: startOf(node), end: endOf(node) }))
  for (const { name, start, end } of places.toSorted((one, other) => other.start - one.start)) {
    if (Array.isArray(fields[name])) return undefined
    next = `${next.slice(0, start)}${written(fields[name]).trimEnd()}${next.slice(end)}`
  }
  return next
}

function inFlow(text: string, map: YAMLMap, more: Fields): string | undefined {
  const last = map.items.at(-1)?.value as Node | null | undefined
  if (last == null) return undefined
  const members = new Document(more)
  visit(members, {
    Collection(_, node) {
      node.flow = true
    },
  })
  const padded = members.toString({ lineWidth: 0 }).trim().slice(1, -1).trim()
  return `${text.slice(0, endOf(last))}, ${padded}${text.slice(endOf(last))}`
}

function inBlock(text: string, map: YAMLMap, more: Fields): string {
  const first = startOf(map.items[0]?.key as Node)
  const column = first - (text.lastIndexOf('\n', first - 1) + 1)
  return spliced(text, endOf(map), more, ' '.repeat(column))
}

function spliced(text: string, end: number, value: object, indent: string): string {
  const at = text[end - 1] === '\n' ? end : endOfLine(text, end)
  const before = text.slice(0, at)
  const snippet = written(value).replaceAll(/^(?=.)/gm, indent)
  return `${before}${before === '' || before.endsWith('\n') ? '' : '\n'}${snippet}${text.slice(at)}`
}

/** In the usual layout: a line for each field. */
function written(value: unknown): string {
  const document = new Document(value)
  visit(document, {
    Seq(_, list) {
      list.flow = list.items.every(isScalar)
    },
  })
  return document.toString({ lineWidth: 0, flowCollectionPadding: false })
}

/** The end of the node's content; comments after it stay after it. */
function endOf(node: unknown): number {
  return (node as Node).range?.[1] ?? 0
}

function startOf(node: unknown): number {
  return (node as Node).range?.[0] ?? 0
}

function lineAt(text: string, position: number): string {
  const start = text.lastIndexOf('\n', position - 1) + 1
  return text.slice(start, endOfLine(text, position))
}

function endOfLine(text: string, position: number): number {
  const end = text.indexOf('\n', position)
  return end === -1 ? text.length : end + 1
}
