/** The names of models that a key may have in place of a route. */

import { ANY_MODEL } from '../../../schema/constants.ts'
import type { Section } from '../../../schema/index.ts'
import { upstreamsOf } from './prices.ts'

/** Whether a name or pattern is that of models that clients name, of a route with an upstream that gets them. */
export function modelsNamed(section: Section): (written: string) => boolean {
  const open = section.routes.filter((route) =>
    upstreamsOf(section, route).some(({ model }) => model === ANY_MODEL),
  )
  const names = new Set(open.map(({ name }) => name))
  const aliases = Object.entries(section.aliases).filter(([, name]) => names.has(name))
  return (written) =>
    aliases.some(([alias]) => {
      const isPattern = written.endsWith('*')
      const least = isPattern ? written.slice(0, -1) : written
      if (!alias.endsWith('*')) return isPattern && alias.startsWith(least)
      const start = alias.slice(0, -1)
      return least.startsWith(start) || (isPattern && start.startsWith(least))
    })
}
