/** Findings and problems of a configuration: how they are made, located, ordered and printed. */

export type Path = readonly (string | number)[]
export type Severity = 'error' | 'warning'

/** A fault by field, before the line of the field is known. */
export interface Finding {
  readonly severity: Severity
  readonly path: Path
  readonly message: string
  readonly fix: string
  readonly code?: string
  /** Point at the name of the field instead of its value. */
  readonly atKey?: boolean
  /** Number of findings that this one summarises. */
  readonly hidden?: number
}

/** A fault by file, line and column, as people and programs get it. */
export interface Problem {
  readonly severity: Severity
  readonly file: string
  readonly path: string
  readonly line: number
  readonly column: number
  readonly message: string
  readonly fix: string
  readonly code?: string
}

export interface Position {
  readonly line: number
  readonly column: number
}

export interface Location extends Position {
  readonly file: string
  readonly path: string
}

export function refuse(path: Path, message: string, fix: string): Finding {
  return { severity: 'error', path, message, fix }
}

export function warn(path: Path, message: string, fix: string): Finding {
  return { severity: 'warning', path, message, fix }
}

/** `gw.routes[0].upstreams[1].name`; a name with special characters is quoted. */
export function showPath(path: Path): string {
  return path.reduce<string>((shown, part) => {
    if (typeof part === 'number') return `${shown}[${part}]`
    if (!/^[A-Za-z_][A-Za-z0-9_-]*$/.test(part)) return `${shown}[${JSON.stringify(part)}]`
    return shown === '' ? part : `${shown}.${part}`
  }, '')
}

export function problemAt(finding: Finding, place: Location): Problem {
  const { severity, message, fix, code } = finding
  const { file, path, line, column } = place
  const problem = { severity, file, path, line, column, message, fix }
  return code === undefined ? problem : { ...problem, code }
}

/** Orders by place, `file` first, and drops a finding that repeats another one word by word. */
export function sortProblems(file: string, problems: readonly Problem[]): Problem[] {
  const distinct = new Map(
    problems.map((problem) => [
      `${problem.file}\n${problem.line}\n${problem.path}\n${problem.message}`,
      problem,
    ]),
  )
  const files = [...new Set([file, ...problems.map((problem) => problem.file)])]
  return [...distinct.values()].sort(
    (left, right) =>
      files.indexOf(left.file) - files.indexOf(right.file) ||
      left.line - right.line ||
      left.column - right.column,
  )
}

/** The one rendering: an editor can jump to the first line, a person reads the second. */
export function renderProblem(problem: Problem): string {
  const { file, line, column, severity, path, message, fix, code } = problem
  const field = path === '' ? '' : `${path}: `
  const suffix = code === undefined || message.includes(code) ? '' : ` (${code})`
  return `${file}:${line}:${column}: ${severity}: ${field}${message}${suffix}\n    fix: ${fix}`
}

/** Most findings that are shown for a document; all are counted. */
export const FINDINGS_MAX = 100

/** The first `most` findings, errors before warnings, in their order; the last one counts the omitted ones. */
export function firstFindings(findings: readonly Finding[], most: number): readonly Finding[] {
  const real = findings.filter(({ hidden }) => hidden === undefined)
  const tails = findings.filter(({ hidden }) => hidden !== undefined)
  if (real.length <= most && tails.length === 0) return findings
  const byWeight = [...real.filter(isError), ...real.filter((one) => !isError(one))]
  const shown = byWeight.slice(0, most)
  const left = [...byWeight.slice(most), ...tails]
  const path = shown.at(-1)?.path
  const tailOf = (severity: Severity) => {
    const count = countFindings(left.filter((one) => one.severity === severity))
    return count === 0 ? [] : [andMore(count, { severity, path })]
  }
  return [...shown, ...tailOf('error'), ...tailOf('warning')]
}

function isError({ severity }: Finding): boolean {
  return severity === 'error'
}

/** Follows the last shown finding, at its place. */
export function andMore(
  count: number,
  { severity, path = [] }: { severity: Severity; path: Path | undefined },
): Finding {
  const message = `and ${count.toLocaleString('en-US')} more ${severity}${count === 1 ? '' : 's'}`
  const fix = 'Correct the others first; then these are shown.'
  return { severity, path, message, fix, hidden: count }
}

/** Number of findings, including those that are not shown. */
export function countFindings(findings: readonly Finding[]): number {
  return findings.reduce((sum, { hidden = 1 }) => sum + hidden, 0)
}

export function hasErrors(problems: readonly { severity: Severity }[]): boolean {
  return problems.some((problem) => problem.severity === 'error')
}
