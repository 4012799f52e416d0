/** The request of an attempt as it leaves: encoded for the upstream's wire, with its headers, signed where it has to be. */
import type { Clock } from '../../base/clock.ts'
import type { ModelRequest } from '../../inner-form.ts'
import type { UpstreamRequest } from '../../providers/contract.ts'
import type { Continued } from '../../telemetry/correlation.ts'
import type { Pair } from '../../wires.ts'
import type { PoolRequest } from '../connection/http1/contract.ts'
import type { Target } from '../target/targets.ts'

export interface Sending {
  readonly request: ModelRequest
  readonly pair: Pair
  readonly target: Target
  /** Sent as the limit of tokens when the client gave none. */
  readonly maxTokens: number | undefined
  readonly gateway: { readonly clock: Clock }
}

export function poolRequestOf(sending: Sending, { requestId, headers }: Continued): PoolRequest {
  const { request, pair, target, maxTokens } = sending
  const { settings } = target
  const encoded = pair.encode(request, settings, maxTokens)
  const body = typeof encoded.body === 'string' ? Buffer.from(encoded.body) : encoded.body
  const path = settings.basePath + encoded.path
  const signature = signatureOf(encoded, path, body, sending)
  return {
    path,
    headers: target.headersOf(encoded.headers),
    requestId,
    ownHeaders: signature === undefined ? headers : [...headers, ...signature],
    body,
  }
}

/** Name and value alternating; undefined where the provider signs nothing. */
function signatureOf(
  { headers }: UpstreamRequest,
  path: string,
  body: Buffer,
  { target: { settings }, gateway }: Sending,
): string[] | undefined {
  const { provider, origin } = settings
  if (provider.sign === undefined) return undefined
  const wallMs = gateway.clock.wall()
  const final = { method: 'POST', origin, path, headers, body, wallMs } as const
  return Object.entries(provider.sign(final, settings)).flat()
}
