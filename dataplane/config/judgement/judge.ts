/** Turns a document that was read into a checked configuration: schema, then support, then the rules between fields. */

import { valueBelow } from '../../json/values.ts'
import type { RunMode } from '../../schema/constants.ts'
import { type Configuration, GatewayConfig } from '../../schema/index.ts'
import type { CheckContext } from '../checks/contract.ts'
import { check, checkChoices, checkFacts } from '../checks/index.ts'
import type { DocumentReading } from '../document/reading.ts'
import { startsWith } from '../document/tree.ts'
import { Suggestions } from './nearest.ts'
import { FINDINGS_MAX, type Finding, firstFindings, type Path, showPath } from './problems.ts'
import { salvage, withoutStandIns } from './salvage.ts'
import { explainIssues } from './shape.ts'

export interface Judgement {
  /** Present when the schema accepts the tree; findings may still refuse it. */
  readonly configuration?: Configuration
  /** Paths are as the user wrote them. */
  readonly findings: readonly Finding[]
}

/** Both trees are canonical: one with references resolved, one as written. */
type Trees = Pick<DocumentReading, 'resolved' | 'written'>

export interface JudgeOptions {
  /** Milliseconds since the epoch; absent: skip checks that depend on the time. */
  readonly now: number | undefined
  /** Where the configuration comes from; absent: a file. */
  readonly place?: RunMode
  readonly suggestions?: Suggestions
  /** Most findings that get a message. */
  readonly most?: number
  /** Values that the schema cannot judge, by the path that the user wrote. */
  readonly isExpected?: (source: string) => boolean
  readonly hasOtherKeys?: CheckContext['hasOtherKeys']
}

export function judge(
  { resolved, written, sourceOf }: Pick<DocumentReading, 'resolved' | 'written' | 'sourceOf'>,
  { isExpected, ...options }: JudgeOptions,
): Judgement {
  const { findings, ...judgement } = judgeTrees(
    { resolved, written },
    {
      ...options,
      sourceOf,
      ...(isExpected && { isExpected: (path) => isExpected(showPath(sourceOf(path))) }),
    },
  )
  const atSource = (finding: Finding) => ({ ...finding, path: sourceOf(finding.path) })
  return { ...judgement, findings: findings.map(atSource) }
}

interface TreeOptions extends Omit<JudgeOptions, 'isExpected'>, Pick<CheckContext, 'sourceOf'> {
  /** Paths are canonical. */
  readonly isExpected?: (path: Path) => boolean
}

function judgeTrees(trees: Trees, options: TreeOptions): Judgement {
  const { now, place = 'file', suggestions = new Suggestions() } = options
  const { most = FINDINGS_MAX, isExpected, hasOtherKeys, sourceOf } = options
  const context = { written: trees.written, sourceOf, now, place, suggestions, hasOtherKeys }
  const parsed = GatewayConfig.safeParse(trees.resolved)
  if (parsed.success) {
    const findings = check(parsed.data.gw, context)
    return { configuration: parsed.data, findings: firstFindings(findings, most) }
  }
  const { issues } = parsed.error
  const explanation = { suggestions, most, ...(isExpected && { isExpected }) }
  const faults = explainIssues(issues, trees.written, explanation)
  // With this many wrong values, the checks between fields no longer help.
  const saved = issues.length > most ? [] : checkSalvage(trees, context)
  return { findings: [...faults, ...firstFindings(saved, most)] }
}

/** Runs the checks on a document that the schema refused, and keeps findings about what the user wrote. */
function checkSalvage(trees: Trees, context: CheckContext): Finding[] {
  const saved = salvage(trees.resolved)
  if (saved === undefined) return []
  // The document and `gw` contain every field, so a change to them does not discredit the fields below.
  const touched = saved.touched.filter((path) => path.length > 1)
  const isTouched = ({ path }: Finding) => touched.some((prefix) => startsWith(path, prefix))
  const isWritten = ({ path }: Finding) =>
    valueBelow(trees.written, ...path) !== undefined &&
    !touched.some((one) => one.length === path.length && startsWith(path, one))
  const { gw } = saved.configuration
  return withoutStandIns([
    ...checkFacts(gw, context).filter((finding) => !isTouched(finding) || isWritten(finding)),
    ...checkChoices(gw, context).filter((finding) => !isTouched(finding)),
  ])
}
