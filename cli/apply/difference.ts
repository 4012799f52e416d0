/** The change that applying a file would make to a gateway, on this machine or in a cluster. */
import type { Difference } from '../../dataplane/config/shown/differences.ts'
import { readVerdict } from '../asking/admin-words.ts'
import { withCluster } from '../asking/cluster-access.ts'
import { askAdmin } from '../asking/connection.ts'
import type { Place } from '../asking/place.ts'
import { EXIT, printRemark } from '../printing/output.ts'
import { changeOf } from './change.ts'
import { judged } from './cluster.ts'
import type { Written } from './document.ts'

/** undefined if the file would be refused; the problems are then printed. */
export async function differencesOf(
  written: Written,
  place: Place,
): Promise<readonly Difference[] | undefined> {
  if (place.kind === 'cluster') {
    return await withCluster(place, async (access) => {
      const gateway = judged(written, place, access)
      if (gateway === undefined) return undefined
      return (await changeOf(gateway, access, { force: true })).differences
    })
  }
  const { status, body } = await askAdmin(place.admin, '/config?dry_run=true', {
    method: 'PUT',
    body: written.text,
  })
  const { problems, refusal, differences } = readVerdict(status, body, written.name)
  for (const problem of problems) printRemark(problem)
  if (refusal === undefined) return differences
  process.exitCode = EXIT.no
  printRemark(`refused: ${refusal}`)
  return undefined
}
