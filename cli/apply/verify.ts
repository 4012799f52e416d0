/** `gw apply --verify`: writes `verify: true` into every route of the document that is applied. */
import { isRecord, listBelow } from '../../dataplane/json/values.ts'
import { EditableYaml } from '../yaml/editable.ts'
import type { Written } from './document.ts'

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
