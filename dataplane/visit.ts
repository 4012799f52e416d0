/** The frame around every request: opens the answer and the trace, turns errors into refusals, records the end. */
import type { Api } from './apis/contract.ts'
import type { Call } from './call.ts'
import { GatewayError } from './errors.ts'
import type { Gateway, Visit } from './gateway.ts'
import { ClientResponse } from './response.ts'
import { record } from './telemetry/record.ts'

export async function serve(
  call: Call,
  gateway: Gateway,
  headers: readonly string[],
  api: Api,
): Promise<void> {
  const { active, clock, deadlines } = gateway
  const response = new ClientResponse(call, clock, deadlines, headers)
  const trace = {
    request_id: call.id,
    time: new Date(clock.wall()).toISOString(),
    method: call.incoming.method ?? '',
    path: (call.incoming.url ?? '').slice(0, 200),
    attempts: [],
  }
  const visit: Visit = { call, response, trace, gateway, active }
  gateway.visits.add(visit)
  try {
    await api.run(visit)
  } catch (error) {
    refuse(error, visit)
  } finally {
    gateway.visits.delete(visit)
    if (!api.quiet) record(visit)
  }
}

function refuse(error: unknown, { response, trace, gateway }: Visit): void {
  const refusal = error instanceof GatewayError ? error : internal(error, gateway, trace.request_id)
  trace.code = refusal.code
  trace.message = typeof refusal.cause === 'string' ? refusal.cause : refusal.message
  gateway.metrics.refused.at(refusal.code).value++
  response.refuse(refusal)
}

function internal(error: unknown, gateway: Gateway, requestId: string): GatewayError {
  const stack = error instanceof Error ? (error.stack ?? error.message) : String(error)
  gateway.log.event(
    'error',
    'internal_error',
    'A request failed through a mistake of the gateway.',
    {
      request_id: requestId,
      stack,
    },
  )
  return new GatewayError(
    'ERR_GW_INTERNAL',
    'The gateway made a mistake; tell its operator the request id.',
    {
      cause: 'internal error',
    },
  )
}
