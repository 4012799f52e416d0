/** Allows one spelling per path, so that another spelling cannot bypass a rule of a proxy in front. */

/** The rest of such a path is the name of a model, which may contain slashes and encoded characters. */
export const MODEL_PREFIX = '/v1/models/'

/** Encodings of letters, digits, `-`, `.`, `_` and `~`, which no name needs (RFC 3986, 2.3). */
const NEEDLESS = /%(?:2[DE]|3\d|[46][1-9A-F]|[57][0-9A]|5F|7E)/i

export function pathOf(target: string): string {
  const query = target.indexOf('?')
  return query === -1 ? target : target.slice(0, query)
}

/** Whether a path is exactly that of an API. A path that ends in `*` accepts any correctly encoded name. */
export function isSpelledAs(path: string, apiPath: string): boolean {
  if (!apiPath.endsWith('*')) return path === apiPath
  return path.startsWith(apiPath.slice(0, -1)) && !NEEDLESS.test(path) && isDecodable(path)
}

function isDecodable(path: string): boolean {
  try {
    decodeURIComponent(path)
    return true
  } catch {
    return false
  }
}
