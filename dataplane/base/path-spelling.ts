/** Allows one spelling per path, so that another spelling cannot bypass a rule of a proxy in front. */

/** After this the rest of a path is the name of a model, which may hold slashes and encoded characters. */
export const MODEL_PREFIX = '/v1/models/'

/** Encodings of letters, digits, `-`, `.`, `_` and `~`, which no name needs (RFC 3986, 2.3). */
const NEEDLESS = /%(?:2[DE]|3\d|[46][1-9A-F]|[57][0-9A]|5F|7E)/i

export function pathOf(target: string): string {
  const query = target.indexOf('?')
  return query === -1 ? target : target.slice(0, query)
}

/** Whether a path is an API's own, letter by letter. One that ends in `*` takes any name that is encoded as it must be. */
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
