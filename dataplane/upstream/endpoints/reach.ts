/** How the gateway reaches an upstream: at its endpoints or by its host name. */

import type { UpstreamSettings } from '../../config/snapshot.ts'
import type { Destination } from '../../connection/client.ts'
import { proxyFor } from '../../connection/egress-proxy.ts'
import type { Section } from '../../schema/index.ts'
import type { Endpoints } from './endpoints.ts'

/** A proxy chooses the address itself. */
export function hasEndpoints({ section, origin }: UpstreamSettings, whole: Section): boolean {
  return (section.endpoints ?? 'url') !== 'url' && proxyFor(new URL(origin), whole) === undefined
}

/** The settings for connections that may go to any endpoint. A pool has no host name to dial. */
export function reached<S extends UpstreamSettings>(
  settings: S,
  endpoints: Endpoints | undefined,
): S & Destination {
  return settings.section.endpoints === 'pool'
    ? { ...settings, at: () => endpoints?.any() }
    : settings
}
