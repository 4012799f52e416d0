/** Writes a configuration as YAML, with a comment at each part that a foreign field became. */
import { Document, isScalar, type Node, Pair, Scalar, YAMLMap, YAMLSeq } from 'yaml'
import { showPath } from '../../dataplane/config/judgement/problems.ts'
import { isRecord } from '../../dataplane/json/values.ts'
import { unsteered } from '../printing/tables/table.ts'
import type { Remark } from './draft.ts'
import type { Account } from './field.ts'

export interface Writing {
  readonly tree: object
  readonly accounts: readonly Account[]
  readonly remarks: readonly Remark[]
  /** Lines above everything. */
  readonly head: readonly string[]
}

export function writtenYaml({ tree, accounts, remarks, head }: Writing): string {
  const nodes = new Map<object, YAMLMap | YAMLSeq>()
  const document = new Document()
  document.contents = nodeOf(tree, nodes) as typeof document.contents
  const homeless: string[] = []
  for (const account of accounts) {
    if (account.outcome !== 'changed') continue
    const text = ` ${commentOf(account)}`
    const [place] = account.places
    const isWritten = place !== undefined && commented(nodes, place, text)
    if (!isWritten) homeless.push(text)
  }
  for (const { owner, member, text } of remarks) commented(nodes, { owner, member }, ` ${text}`)
  document.commentBefore = [...head.map((line) => ` ${unsteered(line)}`), ...homeless].join('\n')
  return document.toString({ lineWidth: 0, flowCollectionPadding: false })
}

/** Never a value: it may be a secret. */
export function commentOf({ line, path, note }: Account): string {
  return unsteered(`line ${line}, ${showPath(path)}: ${note}`)
}

function nodeOf(value: unknown, nodes: Map<object, YAMLMap | YAMLSeq>): Node {
  if (Array.isArray(value)) {
    const list = new YAMLSeq()
    list.items = value.map((entry) => nodeOf(entry, nodes))
    list.flow = value.length > 0 && list.items.every(isScalar)
    nodes.set(value, list)
    return list
  }
  if (!isRecord(value)) return new Scalar(value)
  const map = new YAMLMap()
  for (const [name, member] of Object.entries(value))
    if (member !== undefined) map.items.push(new Pair(new Scalar(name), nodeOf(member, nodes)))
  nodes.set(value, map)
  return map
}

function commented(
  nodes: ReadonlyMap<object, YAMLMap | YAMLSeq>,
  { owner, member }: { readonly owner: object; readonly member: string },
  text: string,
): boolean {
  const node = nodes.get(owner)
  if (node === undefined) return false
  const items: readonly unknown[] = node.items
  const pair = items.find(
    (one): one is Pair<Scalar, Node> => one instanceof Pair && String(one.key) === member,
  )
  const at: Node = pair?.key ?? node
  const before = at.commentBefore
  const lines = before?.split('\n') ?? []
  if (!lines.includes(text)) at.commentBefore = [...lines, text].join('\n')
  return true
}
