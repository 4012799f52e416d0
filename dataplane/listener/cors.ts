/** Cross-origin rules: which browser pages may call, and which headers they may read. */
import type { Section } from '../schema/index.ts'

type Cors = Section['gateway']['cors']

export const ALLOWED_METHODS: readonly string[] = ['GET', 'POST', 'DELETE', 'OPTIONS']
/** Every header of the gateway's answers that a page may not read by itself. */
const EXPOSED = [
  ...['X-Request-Id', 'Request-Id', 'X-Gw-Route', 'X-Gw-Upstream', 'X-Gw-Upstream-Request-Id'],
  ...['X-Gw-RateLimit-Limit', 'X-Gw-RateLimit-Remaining', 'X-Gw-RateLimit-Reset'],
  ...['X-Gw-Budget-Tokens-Remaining', 'X-Gw-Budget-Spend-Remaining-Usd'],
  ...['X-Gw-Max-Tokens', 'X-Gw-Dropped-Parameters', 'X-Gw-Token-Count', 'X-Gw-Semantic'],
  ...['X-Gw-Cost-Usd', 'X-Gw-Cache-Saved-Usd'],
  ...['Retry-After', 'Retry-After-Ms', 'X-Should-Retry', 'Allow', 'WWW-Authenticate'],
  ...['Deprecation', 'Sunset', 'Link'],
  ...limitNames('X-RateLimit', ['Limit', 'Remaining', 'Reset'], ['Requests', 'Tokens']),
  ...limitNames('Anthropic-RateLimit', ['Requests', 'Tokens'], ['Limit', 'Remaining', 'Reset']),
].join(', ')

function limitNames(prefix: string, middles: readonly string[], ends: readonly string[]): string[] {
  return ends.flatMap((end) => middles.map((middle) => `${prefix}-${middle}-${end}`))
}

/** Headers for an answer to this origin, name and value alternating; none if it may not call. */
export function corsHeaders(origin: string | undefined, cors: Cors): string[] {
  if (cors.allowed_origins.length === 0) return []
  if (origin === undefined) return ['vary', 'Origin']
  if (!isAllowedOrigin(origin, cors)) return ['vary', 'Origin']
  const any = cors.allowed_origins.includes('*')
  const headers = ['vary', 'Origin', 'access-control-allow-origin', any ? '*' : origin]
  headers.push('access-control-expose-headers', EXPOSED)
  if (cors.allow_credentials && !any) headers.push('access-control-allow-credentials', 'true')
  return headers
}

export function isAllowedOrigin(origin: string, { allowed_origins }: Cors): boolean {
  return allowed_origins.includes('*') || allowed_origins.includes(origin)
}

/** Further headers of the answer to a preflight. */
export function preflight(allowed: readonly string[], asked: string | undefined): string[] {
  if (!allowed.includes('access-control-allow-origin')) return []
  return [
    'access-control-allow-methods',
    ALLOWED_METHODS.join(', '),
    'access-control-allow-headers',
    // A wildcard does not cover Authorization, so the answer repeats the requested names.
    asked ?? 'Authorization, Content-Type',
    'access-control-max-age',
    '600',
  ]
}
