/** The models that upstreams list themselves, under the names by which a client may ask for them. */
import type { Caller } from '../../call/call.ts'
import { mayUse } from '../../call/key-entry.ts'
import { replacedPart } from '../../config/routes/named-models.ts'
import { namedWindow } from '../../config/upstreams/settings.ts'
import type { Visit } from '../../request/api.ts'
import { type ListedModel, listedBy } from '../../upstream/named/listed-models.ts'

/** The most models of all upstreams together. */
const LISTED_MAX = 10_000

export async function listedModels(caller: Caller, visit: Visit): Promise<ListedModel[]> {
  const { active, gateway } = visit
  const { models } = active.snapshot
  const found = new Map<string, ListedModel>()
  for (const [prefix, route] of models.prefixes) {
    for (const target of active.lanes.get(route.name)?.targets ?? []) {
      const { takesModel, section } = target.settings
      for (const { name, window } of (await listedBy(target, gateway.clock)?.models()) ?? []) {
        const sent = sentFor(name, prefix, takesModel)
        const isAsked = models.prefixes.find(([start]) => sent.startsWith(start))?.[0] === prefix
        if (!isAsked || models.written(sent) !== undefined || found.has(sent)) continue
        if (!mayUse(caller.key, { name: route.name, sent })) continue
        if (found.size >= LISTED_MAX) return [...found.values()]
        found.set(sent, { name: sent, window: namedWindow(section, name) ?? window })
      }
    }
  }
  return [...found.values()]
}

/** The upstream takes the whole name if it does not take the part after the alias. */
function sentFor(
  name: string,
  prefix: string,
  takes: ((name: string) => boolean) | undefined,
): string {
  const replaced = replacedPart(prefix)
  const isWhole = name.startsWith(prefix) && takes?.(name.slice(replaced.length)) === false
  return isWhole ? name : replaced + name
}
