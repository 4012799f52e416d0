/** A collector as receiver of batches: the URL and encoding of each signal. */
import { promisify } from 'node:util'
import { constants, gzip } from 'node:zlib'
import type { Section, Signal } from '../../schema/index.ts'
import type { Receiver } from '../tracing/collector.ts'
import { jsonOf } from './json.ts'

/** The only statuses that the specification of OTLP allows to retry. */
const AGAIN: ReadonlySet<number> = new Set([429, 502, 503, 504])

const compress = promisify(gzip)

/** Address of the collector, if it is not the one in telemetry. */
interface Elsewhere {
  readonly url: string
  readonly headers: Readonly<Record<string, string>> | undefined
}

export function otlpReceiver(
  { otlp_endpoint = '', otlp_headers, ...telemetry }: Section['telemetry'],
  signal: Signal,
  { url, headers }: Elsewhere = { url: otlp_endpoint, headers: otlp_headers },
): Receiver {
  const isJson = telemetry.otlp_protocol === 'http/json'
  const isCompressed = telemetry.otlp_compression === 'gzip'
  return {
    // An endpoint that names one signal belongs to the same collector.
    url: url.replace(/\/v1\/(?:traces|metrics|logs)\/*$/, ''),
    path: `/v1/${signal}`,
    headers: {
      'content-type': isJson ? 'application/json' : 'application/x-protobuf',
      ...(isCompressed && { 'content-encoding': 'gzip' }),
      ...headers,
    },
    timeoutMs: telemetry.otlp_timeout_ms,
    again: AGAIN,
    rejectedOf: isJson ? rejectedInJson : rejectedInProtobuf,
    ...((isJson || isCompressed) && {
      async encode(body) {
        const written = isJson ? Buffer.from(jsonOf(body, signal)) : body
        return isCompressed ? await compress(written, FAST) : written
      },
    }),
  }
}

const FAST = { level: constants.Z_BEST_SPEED }

/** `partial_success.rejected_spans` of an answer, or its like; 0 if it cannot be read. */
export function rejectedInProtobuf(bytes: Buffer): number {
  // Field 1 is a message that begins with its own field 1, a number, unless that is 0.
  if (bytes[0] !== 0x0a || bytes[2] !== 0x08) return 0
  let value = 0
  for (let at = 3, factor = 1; at < bytes.length && at < 11; at++, factor *= 128) {
    const byte = bytes[at] ?? 0
    value += (byte & 0x7f) * factor
    if (byte < 128) return value
  }
  return 0
}

function rejectedInJson(bytes: Buffer): number {
  const [, number = '0'] = /"rejected\w+":\s*"?(\d{1,15})/.exec(bytes.toString()) ?? []
  return Number(number)
}
