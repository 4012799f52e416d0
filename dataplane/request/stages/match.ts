/** Which route? Checks the key's scope, resolves the alias, then checks the key's permission on that route. */

import { GatewayError, type Learnt } from '../../base/errors.ts'
import { valueInBeginning } from '../../base/form.ts'
import { shownName } from '../../base/shown-text.ts'
import { modelInBeginning } from '../../body/request.ts'
import type { Caller } from '../../call/call.ts'
import { mayUse } from '../../call/key-entry.ts'
import { isModelName, NAME_RULE } from '../../config/routes/named-models.ts'
import type { Sunset } from '../../config/routes/sunsets.ts'
import type { Route, Snapshot } from '../../config/snapshot.ts'

const NAMES_SHOWN_MAX = 20

/** Throws ERR_GW_AUTH_SCOPE_DENIED, before the body is read. */
export function permit({ key }: Caller): void {
  if (!key.invokes) throw denied(`Key "${key.record.id}" lacks the scope models:invoke.`)
}

type Names = Pick<Snapshot, 'models' | 'section' | 'sunsets'>

/**
 * `wallMs`: milliseconds since 1970. The successor of a name that has ended needs no permission besides that of the
 * name. Throws ERR_GW_ROUTE_NOT_FOUND, ERR_GW_AUTH_SCOPE_DENIED.
 */
export function match(model: string, caller: Caller, names: Names, wallMs: number): Route {
  const route = names.models.get(model)
  if (route === undefined) {
    const shown = shownName(model)
    const message = `${absent(model, shown, names)} ${offer(caller, names, wallMs)}`
    const details = { param: 'model', final: true, learnt: { model: shown } }
    throw new GatewayError('ERR_GW_ROUTE_NOT_FOUND', message, details)
  }
  if (mayUse(caller.key, route))
    return names.sunsets === undefined ? route : servedNow(model, route, names, wallMs)
  const message = `Key "${caller.key.record.id}" may not use "${model}". ${offer(caller, names, wallMs)}`
  // The key may not use the route, so the answer names the route only if the client named it.
  throw denied(message, model === route.name ? { model, route: model } : { model })
}

/** The checks leave no circle of successors. */
function servedNow(model: string, route: Route, names: Names, wallMs: number): Route {
  const sunset = names.sunsets?.of(model, route.name)
  if (sunset === undefined || wallMs < sunset.untilMs) return route
  const { successor = '' } = sunset.section
  const next = sunset.redirects ? names.models.get(successor) : undefined
  if (next !== undefined) return servedNow(successor, next, names, wallMs)
  throw ended(shownName(model), sunset)
}

function ended(model: string, sunset: Sunset): GatewayError {
  const { until, successor } = sunset.section
  const advice = successor === undefined ? 'It has no successor.' : `Use "${successor}" instead.`
  const message = `Model "${model}" is not served since ${until}. ${advice}`
  const details = { param: 'model', final: true, learnt: { model, sunset } }
  return new GatewayError('ERR_GW_ROUTE_NOT_FOUND', message, details)
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
  wallMs: number,
): void {
  const model =
    contentType === undefined
      ? modelInBeginning(beginning)
      : valueInBeginning(beginning, contentType, 'model')
  if (model !== undefined && model !== '') match(model, caller, names, wallMs)
}

/** Why no route serves the model. */
function absent(model: string, shown: string, { models }: Names): string {
  if (!models.covers(model)) return `There is no route "${shown}".`
  if (isModelName(model)) return `No upstream takes the model "${shown}".`
  return `"${shown}" is no name of a model: it may have ${NAME_RULE}.`
}

/**
 * Aliases come first, because SDKs use these names. Lists only names that the key may use, so that an error does not
 * reveal others.
 */
function offer(caller: Caller, { section, models, sunsets }: Names, wallMs: number): string {
  const names: string[] = []
  for (const name of [...Object.keys(section.aliases), ...section.routes.map((one) => one.name)]) {
    const route = models.written(name)
    if (route === undefined || !mayUse(caller.key, route)) continue
    const sunset = sunsets?.of(name, route.name)
    if (sunset !== undefined && !sunset.redirects && sunset.untilMs <= wallMs) continue
    if (names.push(name) > NAMES_SHOWN_MAX) break
  }
  names.push(...(caller.key.prefixes ?? []).map((prefix) => `${prefix}*`))
  if (names.length === 0) return 'This key may use no route.'
  const more = names.length > NAMES_SHOWN_MAX ? ', …' : ''
  return `This key may use: ${names.slice(0, NAMES_SHOWN_MAX).join(', ')}${more}.`
}

function denied(message: string, learnt?: Learnt): GatewayError {
  return new GatewayError('ERR_GW_AUTH_SCOPE_DENIED', message, { param: 'model', learnt })
}
