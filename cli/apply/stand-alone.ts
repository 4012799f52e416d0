/** Applies another configuration to a stand-alone gateway, and reports how long it lasts. */
import { realpathSync } from 'node:fs'
import { readVerdict, type Taken } from '../asking/admin-words.ts'
import { askAdmin } from '../asking/connection.ts'
import type { StandAlone } from '../asking/place.ts'
import { printDifferences } from '../printing/differences-text.ts'
import { type Format, printData } from '../printing/formats.ts'
import { EXIT, printLine, printRemark } from '../printing/output.ts'
import { isAgreed, removalsOf } from './consent.ts'
import type { Written } from './document.ts'

export interface Reloading {
  /** Refuse if more than limits, budgets, prices and keys differ. */
  readonly onlyLimits: boolean
  readonly path: string
  /** Removals are agreed to. */
  readonly yes: boolean
  readonly output: Format
}

type Lasting = 'for good' | 'until the next start'

export async function applyToGateway(
  written: Written,
  { admin }: StandAlone,
  { onlyLimits, path, yes, output }: Reloading,
): Promise<void> {
  const put = async (query: readonly string[]) => {
    const asked = [...query, ...(onlyLimits ? ['only=limits'] : [])].join('&')
    const request = { method: 'PUT', body: written.text } as const
    const { status, body } = await askAdmin(admin, `/config?${asked}`, request)
    return readVerdict(status, body, written.name)
  }
  if (!yes) {
    const rehearsed = await put(['dry_run=true'])
    const isRefused = rehearsed.refusal !== undefined
    if (!isRefused && !(await isAgreed(removalsOf(rehearsed.differences), yes))) return
  }
  const taken = await put([])
  const lasts = lastsOf(taken.file, path)
  if (taken.refusal !== undefined) process.exitCode = EXIT.no
  const { refusal, differences, problems, file } = taken
  const result = refusal === undefined ? 'applied' : 'refused'
  const value = { result, refusal, differences, problems, lasts, file }
  const print = () => {
    for (const problem of problems) printRemark(problem)
    if (refusal !== undefined) return refuse(taken)
    if (differences.length === 0) return printLine(`${written.name}: nothing differs`)
    printDifferences(differences)
    printLine(`${written.name}: applied to ${admin}`)
    if (lasts !== undefined) printRemark(whatAnEditDoes(lasts, file ?? written.name))
  }
  const names = refusal === undefined ? [written.name] : []
  await printData(output, { value, names, print })
}

/** A gateway reloads its start file after each save, even if another document was applied in between. */
function whatAnEditDoes(lasts: Lasting, file: string): string {
  if (lasts === 'for good')
    return `This lasts: the gateway was started with ${file}, and reloads it after each later edit.`
  return (
    `This lasts until the next start: the gateway was started with ${file}, ` +
    'and the next save of that file replaces what was applied.'
  )
}

function refuse({ refusal, differences }: Taken): void {
  printRemark(`refused: ${refusal}`)
  printDifferences(differences, process.stderr)
  if (differences.length > 0)
    printRemark(
      '    fix: Apply it without --reload, or change only the fields that --reload accepts.',
    )
}

/** At the next start, the gateway reads only its start file. */
function lastsOf(startedWith: string | undefined, path: string): Lasting | undefined {
  if (startedWith === undefined) return undefined
  return real(path) === real(startedWith) ? 'for good' : 'until the next start'
}

function real(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}
