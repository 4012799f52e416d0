/** Judges a cluster's document as `gw apply` does: its pods have other keys, files and variables than this machine. */

import type { Loaded } from '../../dataplane/config/apart/loaded.ts'
import { parseDocument } from '../../dataplane/config/document/document.ts'
import { parseConfiguration } from '../../dataplane/config/document/foreign-gateways.ts'
import { readTree } from '../../dataplane/config/document/reading.ts'
import { judge as judgeReading } from '../../dataplane/config/judgement/judge.ts'
import { hasErrors, sortProblems } from '../../dataplane/config/judgement/problems.ts'
import { isRecord, textOf, valueBelow } from '../../dataplane/json/values.ts'
import { KIND } from '../../dataplane/schema/index.ts'
import { judge } from './document.ts'

/** The command requires it, or the document has members that only a cluster reads. */
export function isForCluster(text: string, file: string): boolean {
  const tree = parseDocument(text, file).document?.tree
  if (!isRecord(tree) || tree.kind !== KIND) return false
  return isRecord(tree.spec) || textOf(valueBelow(tree, 'metadata', 'namespace')) !== undefined
}

/** `loaded`: the same text as a stand-alone gateway reads it. `needsName`: the document would be applied unchanged. */
export function judgedForCluster(loaded: Loaded, text: string, needsName: boolean): Loaded {
  const { file, configuration: _, ...rest } = loaded
  const { document, problems: unread } = parseConfiguration(text, file)
  if (document === undefined) return { ...rest, file, problems: unread }
  const name = textOf(valueBelow(document.tree, 'metadata', 'name'))
  const target = { name: needsName ? name : (name ?? 'gateway'), namespace: 'default' }
  const judged = judge({ name: file, text }, { ...target, isNamespaceSaid: false })
  const problems = sortProblems(file, judged.problems)
  const configuration = hasErrors(problems) ? undefined : configurationIn(document.tree)
  return { ...rest, file, problems, ...(configuration && { configuration }) }
}

function configurationIn(tree: unknown): Loaded['configuration'] {
  const reading = readTree(tree, { env: {}, readText: () => '' })
  const { uses } = reading.resolution
  return judgeReading(reading, {
    now: undefined,
    place: 'pod',
    isExpected: (source) => uses.has(source),
  }).configuration
}
