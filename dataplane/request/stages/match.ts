/** Which route? Checks the key's scope, resolves the alias, then checks the key's permission on that route. */

import { GatewayError, type Learnt } from '../../base/errors.ts'
import { valueInBeginning } from '../../base/form.ts'
import { shownName } from '../../base/shown-text.ts'
import { modelInBeginning } from '../../body/request.ts'
import type { Caller } from '../../call/call.ts'
import type { KeyEntry } from '../../call/key-entry.ts'
import type { Route, Snapshot } from '../../config/snapshot.ts'

const NAMES_SHOWN_MAX = 20

/** Throws ERR_GW_AUTH_SCOPE_DENIED, before the body is read. */
export function permit({ key }: Caller): void {
  if (!key.invokes) throw denied(`Key "${key.record.id}" lacks the scope models:invoke.`)
}

type Names = Pick<Snapshot, 'models' | 'section'>

/** Throws ERR_GW_ROUTE_NOT_FOUND, ERR_GW_AUTH_SCOPE_DENIED. */
export function match(model: string, caller: Caller, names: Names): Route {
  const route = names.models.get(model)
  if (route === undefined) {
    const shown = shownName(model)
    const message = `There is no route "${shown}". ${offer(caller, names)}`
    const details = { param: 'model', final: true, learnt: { model: shown } }
    throw new GatewayError('ERR_GW_ROUTE_NOT_FOUND', message, details)
  }
  if (mayUse(caller.key, route.name)) return route
  const message = `Key "${caller.key.record.id}" may not use "${model}". ${offer(caller, names)}`
  // The key may not use the route, so the answer names the route only if the client named it.
  throw denied(message, model === route.name ? { model, route: model } : { model })
}

/**
 * Throws the refusals of `match` early, for a body with the model in its beginning. `contentType` is that of a form;
 * undefined: the body is JSON.
 */
export function matchAhead(
  beginning: Buffer,
  contentType: string | undefined,
  caller: Caller,
  names: Names,
): void {
  const model =
    contentType === undefined
      ? modelInBeginning(beginning)
      : valueInBeginning(beginning, contentType, 'model')
  if (model !== undefined && model !== '') match(model, caller, names)
}

export function mayUse(key: KeyEntry, route: string): boolean {
  return key.routes === undefined || key.routes.has(route)
}

/**
 * Aliases come first, because SDKs use these names. Lists only names that the key may use, so that an error does not
 * reveal others.
 */
function offer(caller: Caller, { section, models }: Names): string {
  const names: string[] = []
  for (const name of [...Object.keys(section.aliases), ...section.routes.map((one) => one.name)]) {
    const route = models.get(name)
    if (route === undefined || !mayUse(caller.key, route.name)) continue
    if (names.push(name) > NAMES_SHOWN_MAX) break
  }
  if (names.length === 0) return 'This key may use no route.'
  const more = names.length > NAMES_SHOWN_MAX ? ', …' : ''
  return `This key may use: ${names.slice(0, NAMES_SHOWN_MAX).join(', ')}${more}.`
}

function denied(message: string, learnt?: Learnt): GatewayError {
  return new GatewayError('ERR_GW_AUTH_SCOPE_DENIED', message, { param: 'model', learnt })
}
