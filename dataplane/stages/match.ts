/** Where does it lead? Alias to route first, then the key's permission on that route. */
import type { Caller } from '../call.ts'
import type { KeyEntry, Route, Snapshot } from '../config/snapshot.ts'
import { GatewayError } from '../errors.ts'
import type { Visit } from '../gateway.ts'

const NAMES_SHOWN_MAX = 20
const NAME_LENGTH_SHOWN_MAX = 100
/** Control characters, and line ends that JSON leaves as they are. */
const UNPRINTABLE = /[\p{Cc}\u2028\u2029]/gu

/** Throws ERR_GW_ROUTE_NOT_FOUND, ERR_GW_AUTH_SCOPE_DENIED. */
export function match(model: string, caller: Caller, { active, response, trace }: Visit): Route {
  const { snapshot } = active
  const route = snapshot.models.get(model)
  trace.model = route === undefined ? shown(model) : model
  if (route === undefined) {
    throw new GatewayError(
      'ERR_GW_ROUTE_NOT_FOUND',
      `There is no route "${shown(model)}". ${offer(caller, snapshot)}`,
      {
        param: 'model',
        final: true,
      },
    )
  }
  response.route = route.name
  if (!caller.key.invokes)
    throw denied(`Key "${caller.key.record.id}" lacks the scope models:invoke.`)
  if (!mayUse(caller.key, route.name)) {
    throw denied(
      `Key "${caller.key.record.id}" may not use route "${route.name}". ${offer(caller, snapshot)}`,
    )
  }
  return route
}

export function mayUse(key: KeyEntry, route: string): boolean {
  return key.routes === undefined || key.routes.has(route)
}

/** Only names the key may use: an error must not list what others have. */
function offer(caller: Caller, snapshot: Snapshot): string {
  const names = [...snapshot.routes.keys()].filter((name) => mayUse(caller.key, name))
  if (names.length === 0) return 'This key may use no route.'
  const more = names.length > NAMES_SHOWN_MAX ? ', …' : ''
  return `This key may use: ${names.slice(0, NAMES_SHOWN_MAX).join(', ')}${more}.`
}

/** A name that nobody configured, as logs and terminals can bear it. */
function shown(model: string): string {
  const text = model.slice(0, NAME_LENGTH_SHOWN_MAX).replaceAll(UNPRINTABLE, '\ufffd')
  return model.length > NAME_LENGTH_SHOWN_MAX ? `${text}…` : text
}

function denied(message: string): GatewayError {
  return new GatewayError('ERR_GW_AUTH_SCOPE_DENIED', message, { param: 'model' })
}
