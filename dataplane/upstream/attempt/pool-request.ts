/** The request of an attempt as it leaves: encoded for the upstream's wire, with its headers, signed where it has to be. */
import type { Clock } from '../../base/clock.ts'
import type { UpstreamSettings } from '../../config/snapshot.ts'
import type { ModelRequest } from '../../inner-form.ts'
import type { FinalRequest, Headers } from '../../providers/contract.ts'
import type { Continued } from '../../telemetry/correlation.ts'
import type { Pair } from '../../wires.ts'
import type { PoolRequest } from '../connection/http1/contract.ts'
import type { Target } from '../target/targets.ts'

export interface Sending {
  readonly request: ModelRequest
  /** The client's wire and the target's. */
  readonly pair: Pair
  readonly target: Target
  /** Sent as the limit of tokens when the client gave none. */
  readonly maxTokens: number | undefined
  readonly gateway: { readonly clock: Clock }
}

/** `settings` are the target's, with the credential that holds now. */
export function poolRequestOf(
  { request, pair, target, maxTokens, gateway }: Sending,
  settings: UpstreamSettings,
  { requestId, headers }: Continued,
): PoolRequest {
  const encoded = pair.encode(request, settings, maxTokens)
  const body = typeof encoded.body === 'string' ? Buffer.from(encoded.body) : encoded.body
  const path = settings.basePath + encoded.path
  const signature = signatureOf({ path, headers: encoded.headers, body }, settings, gateway.clock)
  return {
    path,
    headers: target.headersOf(encoded.headers),
    requestId,
    ownHeaders:
      signature === undefined ? headers : [...headers, ...Object.entries(signature).flat()],
    body,
  }
}

/** undefined where the provider signs nothing. */
export function signatureOf(
  final: Pick<FinalRequest, 'path' | 'headers' | 'body'>,
  settings: UpstreamSettings,
  clock: Clock,
): Headers | undefined {
  const { provider, origin } = settings
  if (provider.sign === undefined) return undefined
  return provider.sign({ ...final, method: 'POST', origin, wallMs: clock.wall() }, settings)
}
