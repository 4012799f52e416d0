/** At which upstreams of a route the gateway puts in cache marks. */
import { whyUnmarked } from '../../providers/unmarked.ts'
import type { RouteSection, Section } from '../../schema/index.ts'

export function explainCaches(
  { upstreams }: Section,
  { cache }: RouteSection,
  names: readonly string[],
): string[] {
  const members = upstreams.filter(({ name }) => names.includes(name))
  const asked = members.filter((upstream) => (cache ?? upstream.cache) === 'auto')
  if (asked.length === 0) return []
  const marked = asked.filter((upstream) => whyUnmarked(upstream) === undefined)
  const others = asked.flatMap((upstream) => {
    const reason = whyUnmarked(upstream)
    return reason === undefined ? [] : [`${upstream.name} gets none, because ${reason}`]
  })
  const where = marked.map(({ name }) => name).join(', ')
  return [[`a client that sets no cache marks: ${where} gets some`, ...others].join('; ')]
}
