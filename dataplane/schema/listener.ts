/** `gw.gateway`: where the gateway listens, and what bounds every request. */
import { z } from 'zod'
import { port, seconds, text } from './fields.ts'
import { ListenerTls } from './listener-tls.ts'

const Cors = z.strictObject({
  allowed_origins: z
    .array(text())
    .max(256)
    .default([])
    .describe('Origins that may call from a browser; "*" allows any.'),
  allow_credentials: z
    .boolean()
    .default(false)
    .describe('Whether browsers may send cookies; not with "*".'),
})

const Sse = z.strictObject({
  heartbeat_seconds: seconds(3600)
    .default(15)
    .describe(
      'Seconds between ": keepalive" comment lines on a stream, before and between tokens, and between the pings of a WebSocket.',
    ),
})

export const Listener = z.strictObject({
  listen_address: text()
    .optional()
    .describe(
      'Address the client listener and the metrics listener bind; absent: 127.0.0.1 stand-alone, ' +
        'all addresses in pods and in the image.',
    ),
  listen_port: port().default(8080).describe('Port of the client listener.'),
  metrics_port: port().default(9090).describe('Port of /metrics.'),
  admin_port: port()
    .optional()
    .describe(
      'Loopback port of the admin API. Absent: 9091 in pods; stand-alone only a Unix socket, which the ' +
        'tool finds. GW_ADMIN_PORT wins.',
    ),
  workers: z
    .int()
    .min(1)
    .max(64)
    .default(1)
    .describe(
      'Processes that serve listen_port together, with one configuration and one set of counters; a change waits for a restart.',
    ),
  tls: ListenerTls.optional().describe(
    'Serves clients over TLS; plain HTTP if absent. The certificate is renewed without a restart.',
  ),
  max_request_bytes: z
    .int()
    .min(1)
    .max(1_073_741_824)
    .default(8_388_608)
    .describe('Largest request body in bytes; a larger one gets 413.'),
  request_timeout_seconds: seconds()
    .default(600)
    .describe('Most seconds that one request may take, retries and fallbacks included.'),
  keepalive_seconds: seconds()
    .optional()
    .describe(
      'Seconds an idle client connection is kept; must exceed the load balancer idle timeout. Absent: 75, in a pod 3700.',
    ),
  load_balancer_idle_seconds: seconds()
    .optional()
    .describe(
      'Idle timeout of the load balancer in front; an answer that is not a stream must end before it.',
    ),
  drain_timeout_seconds: seconds()
    .default(30)
    .describe(
      'Seconds that requests in flight get to finish after SIGTERM. GW_DRAIN_TIMEOUT_SECONDS wins.',
    ),
  cors: Cors.prefault({}).describe('Cross-origin rules for browser clients.'),
  sse: Sse.prefault({}).describe('Server-sent event settings.'),
})
