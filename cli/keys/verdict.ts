/** Judges the permissions of a key by its record, as the gateway does. */
import { ModelNames } from '../../dataplane/config/routes/model-names.ts'
import type { RouteNames } from './route-names.ts'
import type { KeyView } from './view.ts'

export interface RecordVerdict {
  readonly status: 200 | 401 | 403 | 404
  readonly why: string
}

export interface KeyQuestion {
  readonly scope: string
  /** A route, or an alias of one. */
  readonly route: string | undefined
}

export function verdictOn(
  { id, status, scopes, routes }: KeyView,
  { scope, route: model }: KeyQuestion,
  names: RouteNames,
): RecordVerdict {
  if (status !== 'ACTIVE') return { status: 401, why: `key ${id} is ${status}` }
  if (!scopes.includes(scope)) return { status: 403, why: `it lacks the scope ${scope}` }
  const route = model === undefined ? undefined : routeOf(model, routes, names)
  if (route !== undefined && names.routes?.includes(route) === false)
    return { status: 404, why: `there is no route or alias "${model}"` }
  if (route !== undefined && !routes.includes('*') && !routes.includes(route))
    return { status: 403, why: `it may not use route "${route}"` }
  return { status: 200, why: 'it may call' }
}

/** If only some routes are known, a name without an alias counts as a route. */
function routeOf(model: string, routes: readonly string[], { aliases }: RouteNames): string {
  const exact = routes.filter((name) => name !== '*').map((name) => [name, name] as const)
  return new ModelNames([...exact, ...Object.entries(aliases)]).get(model) ?? model
}
