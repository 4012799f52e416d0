/** Which upstreams of a route the tenants that require labels may use, in words. */
import type { RouteSection, Section } from '../../schema/index.ts'
import { Placements } from '../routes/placements.ts'

const LISTED_MAX = 20

export function explainPlacements(
  section: Section,
  { name }: RouteSection,
  upstreams: readonly string[],
): string[] {
  const placements = Placements.of(section)
  if (placements === undefined) return []
  const lines = section.tenants.slice(0, LISTED_MAX).flatMap(({ name: tenant }) => {
    const placement = placements.of(tenant)
    if (placement === undefined) return []
    const some = upstreams.filter((upstream) => placement.permitted.has(upstream))
    const whose = tenant === '*' ? 'each other tenant' : `tenant ${tenant}`
    const where =
      some.length === 0
        ? `403, because no upstream of ${name} has`
        : `only ${some.join(', ')}, with`
    return [`${whose}: ${where} ${placement.labels}`]
  })
  const rest = section.tenants.length - LISTED_MAX
  return rest > 0 ? [...lines, `and ${rest} more tenants that require labels`] : lines
}
