/** Connection pools to upstreams. The only file that knows undici. */
import { type Dispatcher, Pool } from 'undici'
import type { Section } from '../config/schema.ts'
import type { UpstreamSettings } from '../config/snapshot.ts'

/** Idle connections are dropped before uvicorn's 5 s would drop them under a request. */
const IDLE_MS = 4000
const HEADER_BYTES_MAX = 65_536

/** The exchange keeps its own clocks: undici's do not fire while the client reads slowly. */
export function openPool(
  upstream: UpstreamSettings,
  _whole: Section,
  connections: number | undefined,
): Dispatcher {
  return new Pool(upstream.origin, {
    connections: connections ?? null,
    pipelining: 1,
    allowH2: false,
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: IDLE_MS,
    keepAliveMaxTimeout: 60_000,
    maxHeaderSize: HEADER_BYTES_MAX,
    connect: {
      timeout: Math.min(upstream.section.connect_timeout_seconds * 1000, upstream.timeoutMs),
    },
  })
}
