/** A gateway that a collector observes: its route tries one upstream twice, and then another. */
import { type FakeUpstream, startFront } from '../helpers/fake-upstream.ts'

/** The telemetry settings for each OTLP format. */
export const WIRE_FORMS = [
  { otlp_protocol: 'http/protobuf', otlp_compression: 'none' },
  { otlp_protocol: 'http/protobuf', otlp_compression: 'gzip' },
  { otlp_protocol: 'http/json', otlp_compression: 'none' },
  { otlp_protocol: 'http/json', otlp_compression: 'gzip' },
] as const

type Fields = Readonly<Record<string, unknown>>

export interface Observed {
  readonly first: FakeUpstream
  readonly second: FakeUpstream
  readonly telemetry: Fields
  readonly route?: Fields
  readonly section?: Fields
}

export async function startObserved(
  { first, second, telemetry, route, section }: Observed,
  options?: Parameters<typeof startFront>[1],
) {
  const fields = {
    upstreams: [
      { name: 'first', endpoint: first.url, model: 'one' },
      { name: 'second', endpoint: second.url, model: 'two' },
    ],
    routes: [
      {
        name: 'chat',
        strategy: 'primary_with_fallback',
        primary: 'first',
        fallback: ['second'],
        retry: { max_attempts: 3, initial_delay_ms: 1 },
        ...route,
      },
    ],
    pricing: [{ model: 'two', input: 1, output: 2 }],
    telemetry,
    ...section,
  }
  return await startFront(fields, options)
}
