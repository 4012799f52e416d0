/** Tags that a client gives its request, as far as the configuration declares them: `X-Gw-Tags: team=blue,feature=search`. */

export const TAGS_HEADER = 'x-gw-tags'
const HEADER_MAX = 1024
const VALUE = /^[A-Za-z0-9_.:/@-]{1,64}$/

/** The declared ones, in the order of the declaration. A value that may not stand in a report is `invalid`. */
export function tagsOf(header: string | undefined, declared: readonly string[]): string {
  if (header === undefined || header.length > HEADER_MAX) return ''
  const given = new Map<string, string>()
  for (const pair of header.split(',')) {
    const at = pair.indexOf('=')
    if (at !== -1) given.set(pair.slice(0, at).trim(), pair.slice(at + 1).trim())
  }
  const tags: string[] = []
  for (const name of declared) {
    const value = given.get(name)
    if (value !== undefined) tags.push(`${name}=${VALUE.test(value) ? value : 'invalid'}`)
  }
  return tags.join(',')
}
