/** `gw apply --verify`: writes `verify: true` into every route of what is applied, and waits until each answers. */
import { isRecord, listBelow } from '../../dataplane/json/values.ts'
import type { Written } from '../apply/document.ts'
import type { Place } from '../asking/place.ts'
import { EXIT, printLine, printRemark } from '../printing/output.ts'
import { EditableYaml } from '../yaml/editable.ts'
import { verifiedLook } from './verified.ts'
import { waitInCluster, waitStandAlone } from './waiting.ts'

/** Only the text that is sent changes, not the file. A text that cannot be read is refused later, with its lines. */
export function withVerification(written: Written): Written {
  try {
    const yaml = new EditableYaml(written.name, written.text)
    const routes = listBelow(yaml.tree, 'gw', 'routes')
    routes.forEach((route, index) => {
      if (isRecord(route)) yaml.set(['gw', 'routes', index], { verify: true })
    })
    return { ...written, text: yaml.text }
  } catch {
    return written
  }
}

/** Exits with 1 if a route does not answer in time. */
export async function printVerified(place: Place, timeoutMs: number): Promise<void> {
  const waiting = { condition: 'Verified', value: 'True', timeoutMs }
  try {
    const { met } =
      place.kind === 'cluster'
        ? await waitInCluster(place, waiting)
        : await waitStandAlone(async () => place, verifiedLook, waiting)
    printLine(met)
  } catch (error) {
    process.exitCode = EXIT.no
    printRemark(`not verified: ${(error as Error).message}`)
  }
}
