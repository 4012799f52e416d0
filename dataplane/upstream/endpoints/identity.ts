/** Whether a changed upstream keeps its connections, health and breaker. */
import type { Snapshot, UpstreamSettings } from '../../config/snapshot.ts'
import { type ReadText, tlsDigest, tlsOf } from '../../config/tls-files.ts'

/**
 * Two upstreams with the same identity share connections, health and breaker across a change of configuration. The
 * identity includes the content of the files in `tls`, so a rotated certificate gets new connections.
 */
export function identityOf(
  settings: UpstreamSettings,
  snapshot: Snapshot,
  readText: ReadText,
): string {
  const { name, origin, section } = settings
  const { connect_timeout_seconds, max_connections, endpoints } = section
  const { tls: shared, http_proxy, no_proxy } = snapshot.section
  const tls = tlsOf(section, snapshot.section)
  const egress = http_proxy && [http_proxy, no_proxy, shared, tlsDigest(shared, readText)]
  return JSON.stringify([
    ...[name, origin, connect_timeout_seconds, max_connections],
    ...[tls, tlsDigest(tls, readText), egress],
    endpoints ?? 'url',
  ])
}
