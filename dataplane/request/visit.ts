/** The frame around every request: opens the answer and the trace, turns errors into refusals, records the end. */

import { isBudgeted } from '../accounts/rules.ts'
import { GatewayError } from '../base/errors.ts'
import { shownPath } from '../base/shown-text.ts'
import type { Call, Caller } from '../call/call.ts'
import { type Active, activeFor } from '../gateway/active.ts'
import type { Gateway, Underway } from '../gateway/gateway.ts'
import { tellsBudgets } from '../limits/headers.ts'
import { readLimitHeaders } from '../limits/shown/tenants.ts'
import { correlate } from '../telemetry/correlation.ts'
import { newTrace } from '../telemetry/trace/code.ts'
import type { Trace } from '../telemetry/trace/fields.ts'
import type { Api, Visit } from './api.ts'
import { Notes } from './notes.ts'
import { exemplify, record } from './record.ts'
import { ClientResponse } from './response.ts'
import { authenticate } from './stages/authenticate.ts'

export async function serve(
  call: Call,
  gateway: Gateway,
  headers: string[],
  api: Api,
): Promise<void> {
  const { clock } = gateway
  const response = new ClientResponse(
    call,
    api.wireOf?.(call.incoming) ?? api.wire,
    gateway,
    headers,
  )
  const { method, url } = call.incoming
  const path = url === api.path ? url : shownPath(url)
  const trace = newTrace(call.id, isoTime(clock.wall()), method, path)
  if (!api.quiet) {
    correlate(call.incoming, trace)
    gateway.tracing?.begin(trace)
  }
  const visit = new Served(call, response, trace, gateway)
  if (gateway.tracing !== undefined) visit.peerAddress = call.incoming.peerAddress
  gateway.visits.add(visit)
  if (!api.quiet) gateway.calledAt = clock.now()
  try {
    try {
      await api.run(visit)
    } catch (error) {
      if (error instanceof GatewayError && error.details.learnt !== undefined)
        visit.notes.learnt(error.details.learnt)
      await describeLimits(visit).catch(() => undefined)
      refuse(error, visit)
    } finally {
      gateway.visits.remove(visit)
      if (!api.quiet) close(visit)
    }
  } catch (error) {
    // No code waits for a request, so this error would end the process with all other requests.
    internal(error, gateway, call.id)
    call.outgoing.destroy()
  }
}

class Served implements Visit, Underway {
  seat = -1
  readonly call: Call
  readonly response: ClientResponse
  readonly trace: Trace
  readonly gateway: Gateway
  active: Active
  /** Kept for exported traces, because a closed connection has no address. */
  peerAddress: string | undefined
  readonly notes: Notes

  constructor(call: Call, response: ClientResponse, trace: Trace, gateway: Gateway) {
    this.call = call
    this.response = response
    this.trace = trace
    this.gateway = gateway
    this.active = gateway.active
    this.notes = new Notes(this)
  }

  closeBehind(): void {
    this.response.headers.push('connection', 'close')
  }

  cut(why: (hasBegun: boolean) => GatewayError): void {
    const { response } = this
    if (response.state === 'ended') return
    refuse(why(response.state !== 'unsent'), this)
    response.presence.end()
  }
}

/** Throws what `authenticate` throws. Later parts of the trace name the caller. */
export function identify(visit: Visit): Caller | Promise<Caller> {
  const { call, active, gateway } = visit
  const known = { names: active.snapshot, issuers: gateway.issuers }
  const caller = authenticate(call.incoming, known, gateway.clock.wall())
  // A key needs no waiting; only a new token must be verified.
  if (caller instanceof Promise) return caller.then((one) => noted(one, visit))
  return noted(caller, visit)
}

function noted(caller: Caller, visit: Visit): Caller {
  visit.notes.calledBy(caller)
  visit.active = activeFor(visit.active, caller.tenant)
  return caller
}

/** Every answer to an authenticated request has the headers on limits; if admission ran, they are set already. */
export async function describeLimits({ active, gateway, trace, response }: Visit): Promise<void> {
  const { tenant, key } = trace
  if (tenant === undefined) return
  const rules = active.snapshot.limits.rules.of(tenant, key)
  const { limits } = response
  // Requests that cost nothing are checked without the budgets.
  if (limits !== undefined && (!isBudgeted(rules) || tellsBudgets(limits))) return
  response.limits = { ...(await readLimitHeaders(tenant, rules, gateway.store)), ...limits }
}

function close({ call, response, notes, gateway, active, peerAddress }: Served): void {
  const trace = notes.finished()
  const { access_log } = active.snapshot.section.telemetry
  record({ trace, left: response.left, isLogged: access_log }, gateway)
  const { tracing } = gateway
  const client = tracing && { incoming: call.incoming, peerAddress, parameters: notes.parameters }
  if (client && tracing.end(trace, active.snapshot, client))
    exemplify(trace, gateway.metrics, gateway.clock.wall())
  if (trace.attempts.length === 0) return
  gateway.rollouts.ended(trace)
  gateway.usage.add(trace, active.snapshot.upstreams)
  gateway.usageEvents?.add(trace, active.snapshot, notes.endUser)
}

/** Many requests share a second. test/bench/micro/iso-time.ts: 0.1 us, formatted each time 0.9 us. */
let formatted = { second: 0, text: '' }

function isoTime(wall: number): string {
  const second = Math.floor(wall / 1000)
  if (formatted.second !== second) {
    formatted = { second, text: new Date(second * 1000).toISOString().slice(0, -4) }
  }
  return `${formatted.text}${String(wall - second * 1000).padStart(3, '0')}Z`
}

/** The first refusal ends the request; later errors only follow from it. */
function refuse(error: unknown, { response, trace, notes, gateway }: Visit): void {
  if (trace.code !== undefined) return
  const refusal = error instanceof GatewayError ? error : internal(error, gateway, trace.request_id)
  notes.refused(refusal)
  // A client that disconnects is not counted as refused.
  if (!response.left) gateway.metrics.refused.at(refusal.code).value++
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
    'The gateway made a mistake; send the request id to its operator.',
    {
      cause: 'internal error',
    },
  )
}
