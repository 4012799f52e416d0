/** Annotates the API server's audit log with the verdict on an edit, its tenant, and the changed amounts. */
import { countFindings, showPath } from '../../dataplane/config/judgement/problems.ts'
import { isRecord, recordOf, valueBelow } from '../../dataplane/json/values.ts'
import { gatewayOf } from '../compile/compile-keys.ts'
import { gatewayOfPolicy } from '../compile/tenant-policies.ts'
import { type KubeObject, RESOURCES } from '../kube/objects.ts'
import { cut, type ReviewQuestion, type ReviewVerdict } from './review.ts'

const FIELDS_MAX = 10
const CHANGES_MAX = 20
const PLACE_LENGTH_MAX = 128
const VALUE_LENGTH_MAX = 64
const NAME_LENGTH_MAX = 512

/** The members below these limit a tenant's usage. They never contain a credential. */
const AMOUNTS: readonly (readonly string[])[] = [
  ['gw', 'rate_limits', 'default'],
  ['gw', 'rate_limits', 'tenants'],
  ['gw', 'budgets'],
  ['gw', 'limits'],
  ['spec', 'tenants', 'from'],
  ['spec', 'limits'],
  ['spec', 'budget'],
]

/** One of these identifies an entry of a list, so that a new entry before it changes nothing. */
const NAMES = ['tenant', 'name', 'key'] as const

export function auditOf(
  { kind, object, before }: ReviewQuestion,
  { errors, warnings }: ReviewVerdict,
): Readonly<Record<string, string>> {
  const isRefused = errors.length > 0
  const fields = errors.map(({ path }) => cut(showPath(path), PLACE_LENGTH_MAX))
  const changes = kind === RESOURCES.gatewayKeys.kind ? [] : changesOf(before, object)
  return {
    decision: isRefused ? 'refused' : 'allowed',
    ...(isRefused && { mistakes: String(countFindings(errors)), fields: few(fields, FIELDS_MAX) }),
    ...(warnings.length > 0 && { warnings: String(warnings.length) }),
    ...subjectOf(kind, object),
    ...(changes.length > 0 && { changes: few(changes, CHANGES_MAX) }),
  }
}

/** A key and a policy apply to a tenant of a gateway. */
function subjectOf(kind: string, object: KubeObject): Record<string, string> {
  if (kind === RESOURCES.gatewayConfigs.kind) return {}
  const gateway = kind === RESOURCES.gatewayKeys.kind ? gatewayOf(object) : gatewayOfPolicy(object)
  const tenant = String(valueBelow(object, 'spec', 'tenant') ?? '')
  return { gateway: cut(gateway, NAME_LENGTH_MAX), tenant: cut(tenant, NAME_LENGTH_MAX) }
}

function changesOf(before: KubeObject | undefined, after: KubeObject): string[] {
  const [old, now] = [amountsOf(before), amountsOf(after)]
  const places = [...new Set([...old.keys(), ...now.keys()])]
  return places
    .filter((place) => old.get(place) !== now.get(place))
    .map((place) => {
      const values = `${old.get(place) ?? 'none'} -> ${now.get(place) ?? 'none'}`
      return `${cut(place, PLACE_LENGTH_MAX)}: ${values}`
    })
}

function amountsOf(object: KubeObject | undefined): Map<string, string> {
  const amounts = new Map<string, string>()
  for (const path of AMOUNTS) collect(valueBelow(object, ...path), path.join('.'), amounts)
  return amounts
}

function collect(value: unknown, place: string, into: Map<string, string>): void {
  if (Array.isArray(value) && value.some(isRecord)) {
    for (const [index, entry] of value.entries()) {
      const name = NAMES.find((one) => typeof valueBelow(entry, one) === 'string') ?? ''
      const { [name]: called, ...rest } = recordOf(entry)
      collect(rest, `${place}[${called === undefined ? index : `${name}=${called}`}]`, into)
    }
  } else if (isRecord(value)) {
    for (const [name, below] of Object.entries(value)) collect(below, `${place}.${name}`, into)
  } else if (value !== undefined) {
    into.set(place, cut(String(value), VALUE_LENGTH_MAX))
  }
}

function few(texts: readonly string[], most: number): string {
  const more = texts.length > most ? [`and ${texts.length - most} more`] : []
  return [...texts.slice(0, most), ...more].join('; ')
}
