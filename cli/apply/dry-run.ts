/** `gw apply --dry-run`: what would happen, judged by this tool alone, or by the gateway or the API server. */
import { readFileSync } from 'node:fs'
import { loadConfiguration } from '../../dataplane/config/load.ts'
import type { Place } from '../asking/place.ts'
import { printDifferences } from '../printing/differences-text.ts'
import { type Format, printData } from '../printing/formats.ts'
import { EXIT, printLine, printRemark } from '../printing/output.ts'
import { printProblems } from '../printing/problems-text.ts'
import { judgedForCluster } from './cluster-check.ts'
import { removalsOf } from './consent.ts'
import { differencesOf } from './difference.ts'
import type { Written } from './document.ts'

export type Rehearsal = 'client' | 'server'

export async function rehearse(
  written: Written,
  place: Place,
  { by, output }: { readonly by: Rehearsal; readonly output: Format },
): Promise<void> {
  const { name } = written
  if (by === 'client') {
    if (!judgedHere(written, place)) return
    const value = { result: 'valid', dry_run: by }
    const print = () => printLine(`${name}: valid; nothing was sent (dry run of the client)`)
    return await printData(output, { value, names: [name], print })
  }
  const differences = await differencesOf(written, place)
  if (differences === undefined) return
  const removes = removalsOf(differences)
  const print = () => {
    printDifferences(differences)
    const what = differences.length === 0 ? 'nothing differs' : 'would be applied'
    printLine(`${name}: ${what} (dry run of the server)`)
    if (removes.length > 0) printRemark(`It removes ${removes.join(', ')}, so apply asks first.`)
  }
  const result = differences.length === 0 ? 'unchanged' : 'would be applied'
  const value = { result, dry_run: by, differences, removes }
  await printData(output, { value, names: [name], print })
}

/** No gateway and no cluster is asked. */
function judgedHere({ name, text }: Written, place: Place): boolean {
  const host = {
    env: process.env,
    readText: (path: string) => readFileSync(path, 'utf8'),
    now: Date.now,
  }
  const alone = loadConfiguration(text, name, host, 'validate')
  const isThere = place.kind === 'cluster'
  const { configuration, problems } = isThere ? judgedForCluster(alone, text, true) : alone
  printProblems(problems)
  if (configuration !== undefined) return true
  process.exitCode = EXIT.no
  printRemark(`refused: ${name}; nothing was sent`)
  return false
}
