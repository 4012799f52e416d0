/** Parameters of a model in the file of another gateway, as those that the upstream sets. */
import { faultOf } from '../../dataplane/config/checks/upstreams/parameters.ts'
import { PROVIDER_FACTS } from '../../dataplane/providers/index.ts'
import type { UpstreamSection } from '../../dataplane/schema/index.ts'
import { COMMON, EXTRA_BODY, LIMITS } from '../../dataplane/wire/models/parameters.ts'
import type { Fields } from './draft.ts'
import type { Field } from './field.ts'

/** `how`: whether the client's own value wins in the other gateway. */
export function putParameters(owner: Field, upstream: Fields, how: 'default' | 'force'): void {
  const provider = upstream.provider as UpstreamSection['provider']
  const { parameters = {} } = PROVIDER_FACTS[provider]
  const values: Fields = {}
  for (const name of [...Object.keys(COMMON), ...Object.keys(parameters), EXTRA_BODY]) {
    const field = owner.at(name)
    if (!field.exists) continue
    const fault = faultIn(upstream, values, field)
    if (fault !== undefined) {
      field.hasNoPlace(fault)
      continue
    }
    values[name] = field.value
    field.kept(values, name)
  }
  if (Object.keys(values).length > 0) upstream.parameters = { [how]: values }
}

function faultIn(
  { name, provider, model }: Fields,
  values: Fields,
  field: Field,
): string | undefined {
  const isLimit = (one: string) => LIMITS.some((limit) => limit === one)
  if (isLimit(field.name) && Object.keys(values).some(isLimit))
    return 'another name of the limit has a value already'
  // The address does not matter, and that of the draft may be a reference.
  const upstream = { name, provider, model, endpoint: 'http://127.0.0.1', idle_timeout_seconds: 60 }
  return faultOf(upstream as UpstreamSection, field.name, field.value)
}
