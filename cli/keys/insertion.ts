/** Puts a record into the text of a file and leaves every other byte as it is, where the file's layout allows it. */
import { Document, isMap, isScalar, isSeq, type Node, visit } from 'yaml'

export type Path = readonly (string | number)[]

/** Undefined where the list is written in a way that has to be written anew. */
export function insertedText(
  text: string,
  document: Document,
  root: Path,
  record: object,
): string | undefined {
  const list = root.length === 0 ? document.contents : document.getIn(root, true)
  if (isSeq(list) && list.flow !== true && list.items.length > 0) {
    const [first] = list.items
    const indent = /^( *)- /.exec(lineAt(text, startOf(first as Node)))?.[1]
    return indent === undefined ? undefined : spliced(text, endOf(list), [record], indent)
  }
  if (list !== undefined || root.length === 0) return undefined
  const parent = root.length === 1 ? document.contents : document.getIn(root.slice(0, -1), true)
  if (!isMap(parent) || parent.flow === true) return undefined
  const key = parent.items[0]?.key as Node | undefined
  if (key === undefined) return undefined
  const indent = /^ */.exec(lineAt(text, startOf(key)))?.[0] ?? ''
  return spliced(text, endOf(parent), { [String(root.at(-1))]: [record] }, indent)
}

function spliced(text: string, end: number, value: object, indent: string): string {
  const at = text[end - 1] === '\n' ? end : endOfLine(text, end)
  const before = text.slice(0, at)
  const snippet = written(value).replaceAll(/^(?=.)/gm, indent)
  return `${before}${before === '' || before.endsWith('\n') ? '' : '\n'}${snippet}${text.slice(at)}`
}

/** As people write it: a line for each field. */
function written(value: object): string {
  const document = new Document(value)
  visit(document, {
    Seq(_, list) {
      list.flow = list.items.every(isScalar)
    },
  })
  return document.toString({ lineWidth: 0, flowCollectionPadding: false })
}

/** Behind the last line of what the node holds; comments that follow stay behind it. */
function endOf(node: Node): number {
  return node.range?.[1] ?? 0
}

function startOf(node: Node): number {
  return node.range?.[0] ?? 0
}

function lineAt(text: string, position: number): string {
  const start = text.lastIndexOf('\n', position - 1) + 1
  return text.slice(start, endOfLine(text, position))
}

function endOfLine(text: string, position: number): number {
  const end = text.indexOf('\n', position)
  return end === -1 ? text.length : end + 1
}
