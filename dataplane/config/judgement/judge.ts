/** A resolved tree to a checked configuration: schema, then support, then the rules between fields. */

import { valueBelow } from '../../json/values.ts'
import type { CheckContext } from '../checks/contract.ts'
import { check, checkChoices, checkFacts } from '../checks/index.ts'
import { startsWith } from '../document/tree.ts'
import { type Configuration, GatewayConfig } from '../schema/index.ts'
import type { Place } from '../schema/listener.ts'
import { Suggestions } from './nearest.ts'
import { FINDINGS_MAX, type Finding, firstFindings, type Path } from './problems.ts'
import { salvage, withoutStandIns } from './salvage.ts'
import { explainIssues } from './shape.ts'
import { refuseUnsupported } from './supported.ts'

export interface Judgement {
  /** Present when the schema accepts the tree; findings may still refuse it. */
  readonly configuration?: Configuration
  /** What the schema says of single values. */
  readonly faults: readonly Finding[]
  /** What is said of fields together, and of support. */
  readonly findings: readonly Finding[]
}

export interface Trees {
  /** Canonical, references resolved. */
  readonly resolved: unknown
  /** Canonical, references as written: what messages may show. */
  readonly written: unknown
}

export interface JudgeOptions {
  /** Milliseconds since the epoch; absent: nothing is judged by time. */
  readonly now: number | undefined
  /** Who will read the configuration: a gateway of a file, if nothing is said. */
  readonly place?: Place
  readonly suggestions?: Suggestions
  /** Faults, and findings beside them, that are worded. */
  readonly most?: number
  /** Values, by their canonical place, of which the schema can say nothing. */
  readonly isExpected?: (path: Path) => boolean
  readonly hasOtherKeys?: CheckContext['hasOtherKeys']
}

export function judge(trees: Trees, options: JudgeOptions): Judgement {
  const { now, place = 'file', suggestions = new Suggestions() } = options
  const { most = FINDINGS_MAX, isExpected, hasOtherKeys } = options
  const context = { written: trees.written, now, place, suggestions, hasOtherKeys }
  const unsupported = refuseUnsupported(trees.written)
  const parsed = GatewayConfig.safeParse(trees.resolved)
  if (parsed.success) {
    const findings = [...unsupported, ...check(parsed.data.gw, context)]
    return { configuration: parsed.data, faults: [], findings: firstFindings(findings, most) }
  }
  const { issues } = parsed.error
  const explanation = { suggestions, most, ...(isExpected && { isExpected }) }
  const faults = explainIssues(issues, trees.written, explanation)
  // Where so much is wrong with single values, what is said of several is worth less than it costs.
  const saved = issues.length > most ? [] : checkSalvage(trees, context)
  return { faults, findings: firstFindings([...unsupported, ...saved], most) }
}

/** Checks what the schema refused, as far as that says something about what was written. */
function checkSalvage(trees: Trees, context: CheckContext): Finding[] {
  const saved = salvage(trees.resolved)
  if (saved === undefined) return []
  // The document and `gw` hold everything: a change to them says nothing about a field below.
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
