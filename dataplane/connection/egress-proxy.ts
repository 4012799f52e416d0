/** The egress proxy, for the upstreams that are reached through it. */

import { POOL_DOMAIN } from '../schema/constants.ts'
import type { Section } from '../schema/index.ts'
import { createBypass } from './no-proxy.ts'

export interface EgressProxy {
  /** Scheme, host and port, without the credential. */
  readonly origin: string
  /** Value of `proxy-authorization`, which only the proxy gets. */
  readonly authorization: string | undefined
}

/** undefined when the upstream is reached directly. */
export function proxyFor(upstream: URL, whole: Section): EgressProxy | undefined {
  // A pool has no name for a proxy to resolve, so connections to its pods are direct.
  if (whole.http_proxy === undefined || upstream.hostname.endsWith(POOL_DOMAIN)) return undefined
  const port = Number(upstream.port || (upstream.protocol === 'https:' ? 443 : 80))
  if (createBypass(whole.no_proxy)(upstream.hostname, port)) return undefined
  const { origin, username, password } = new URL(whole.http_proxy)
  const credential = `${decoded(username)}:${decoded(password)}`
  return {
    origin,
    authorization:
      credential === ':' ? undefined : `Basic ${Buffer.from(credential).toString('base64')}`,
  }
}

/** A % that encodes nothing is part of the password. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
