/**
 * Paths as misconfigured base URLs make them: without `/v1`, with it twice, with an extra slash, or in Azure's form.
 */
import { APIS } from '../apis/index.ts'
import { isSpelledAs, pathOf } from '../base/path-spelling.ts'

const VERSION = '/v1/'
/** A diagnosis of a proxy in front of the gateway, whose rule may forbid this one path. */
const STRICT: ReadonlySet<string> = new Set(['/v1/debug/echo-headers'])
const PATHS = [...new Set(APIS.map(({ path }) => path))].filter(
  (path) => /^\/v\d\//.test(path) && !STRICT.has(path),
)
/** Requests for a model that Azure names in the path. */
const OF_DEPLOYMENTS = ['chat/completions', 'completions', 'embeddings', 'responses']

/** Beginnings that stand for `/v1/`. */
const BASE = /^\/{1,2}(?:openai\/)?(?:v1\/{1,2}){0,2}(?!\/)/
const DEPLOYMENT = new RegExp(
  `^/{1,2}openai/deployments/([^/].*?)/(${OF_DEPLOYMENTS.join('|')})/?$`,
)
/** Names contain none of these in any form; Azure's SDKs encode the others. */
const NAME_BAD = /%(?:00|5c)|[#\\]|(?:^|\/|%2f)(?:\.|%2e){1,2}(?:$|\/|%2f)/i

export interface Meant {
  /** The target with the path of the API. */
  readonly url: string
  /** The model that the path names. */
  readonly model?: string
}

/** Only whole parts of the path are removed or added, so the rest is checked like any other target. */
export function meantBy(target: string): Meant {
  const path = pathOf(target)
  const query = target.slice(path.length)
  const [, name, operation] = DEPLOYMENT.exec(path) ?? []
  const model = name === undefined ? undefined : modelIn(name)
  if (model !== undefined) return { url: `${VERSION}${operation}${query}`, model }
  if (!path.endsWith('/') && isOffered(path)) return { url: target }
  const end = path.endsWith('/') ? -1 : path.length
  const rest = path.slice(BASE.exec(path)?.[0].length ?? path.length, end)
  const meant = rest.startsWith('v2/') ? `/${rest}` : `${VERSION}${rest}`
  return { url: isOffered(meant) ? meant + query : target }
}

function isOffered(path: string): boolean {
  return PATHS.some((one) => isSpelledAs(path, one) && path.length >= one.length)
}

function modelIn(name: string): string | undefined {
  if (NAME_BAD.test(name)) return undefined
  try {
    return decodeURIComponent(name)
  } catch {
    return undefined
  }
}
