/** The parameters that upstreams of a route set. */
import { isRecord } from '../../json/values.ts'
import type { UpstreamSection } from '../../schema/index.ts'
import { EXTRA_BODY } from '../../wire/models/parameters.ts'

export function explainParameters(
  upstreams: readonly UpstreamSection[],
  names: readonly string[],
): string[] {
  return upstreams.flatMap(({ name, parameters }) => {
    if (parameters === undefined || !names.includes(name)) return []
    const parts = [
      ['by default', parameters.default],
      ['in every request', parameters.force],
    ] as const
    const said = parts.flatMap(([when, values]) =>
      values === undefined ? [] : [`${when} ${shown(values)}`],
    )
    return [`parameters: ${name} sets ${said.join('; ')}`]
  })
}

/** Members of the vendor without their values, which may be references. */
function shown(values: Readonly<Record<string, unknown>>): string {
  return Object.entries(values)
    .flatMap(([name, value]) => {
      if (name !== EXTRA_BODY) return [`${name}: ${JSON.stringify(value)}`]
      return Object.keys(isRecord(value) ? value : {}).map((member) => `${EXTRA_BODY}.${member}`)
    })
    .join(', ')
}
