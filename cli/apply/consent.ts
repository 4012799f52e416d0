/** The question before a change that takes keys, routes or budgets away from clients. */
import { createInterface } from 'node:readline/promises'
import type { Difference } from '../../dataplane/config/shown/differences.ts'
import { EXIT, printRemark } from '../printing/output.ts'

const SHOWN_MAX = 10
/** Entries of these lists, or a list as a whole. Within a budget, a member that goes is a cap that goes. */
const ENTRY = /^gw\.(api_keys|routes|budgets|limits)(\[.*?\])?$/
const CAP = /^gw\.budgets\b/

/** The paths that the change would remove. */
export function removalsOf(differences: readonly Difference[]): string[] {
  return differences
    .filter(
      ({ path, old, new: next }) => old !== undefined && next === undefined && isGuarded(path),
    )
    .map(({ path }) => path)
}

function isGuarded(path: string): boolean {
  return ENTRY.test(path) || CAP.test(path)
}

/** Asks on a terminal; elsewhere only `--yes` agrees. If the answer is no, says so and sets the exit code. */
export async function isAgreed(removed: readonly string[], yes: boolean): Promise<boolean> {
  if (removed.length === 0 || yes) return true
  const more = removed.length > SHOWN_MAX ? `, and ${removed.length - SHOWN_MAX} more` : ''
  const what = `This removes ${removed.slice(0, SHOWN_MAX).join(', ')}${more}.`
  if (!process.stdin.isTTY || !process.stderr.isTTY) {
    process.exitCode = EXIT.unanswered
    printRemark(
      `refused: ${what} Nothing was changed.\n    fix: Check it with gw diff, then give --yes.`,
    )
    return false
  }
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  const answer = await lines.question(`${what} Apply it? [y/N] `)
  lines.close()
  if (/^y(es)?$/i.test(answer.trim())) return true
  process.exitCode = EXIT.no
  printRemark('Nothing was changed.')
  return false
}
