/** Members of a request that no client may set at any upstream. */

/**
 * Proxies behind an upstream's name would obey these: a client must not choose hosts or
 * credentials.
 */
export const ROUTING: ReadonlySet<string> = new Set([
  'api_base',
  'base_url',
  'api_key',
  'extra_headers',
  'organization',
])
