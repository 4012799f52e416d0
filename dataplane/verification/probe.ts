/** One probe of a route: a request of one token through every stage that a client's request goes through. */
import { GatewayError } from '../base/errors.ts'
import type { Route } from '../config/snapshot.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { ProbeResult } from '../gateway/verdicts.ts'
import { parsed, valueBelow } from '../json/values.ts'
import { requireOperation } from '../request/stages/admit.ts'
import { serve } from '../request/visit.ts'
import { ANY_MODEL } from '../schema/constants.ts'
import { laneOf } from '../upstream/named/lanes.ts'
import type { Operation } from '../wire/inner-form.ts'
import { type OwnAnswer, ownCall } from './own-call.ts'
import { PROBED, smallestRequest } from './smallest-requests.ts'

const TIMEOUT_MS = 30_000
/** Some models that think refuse a limit of one token. */
const TOKENS_MORE = 16
/** The upstreams of the route are busy with the requests of clients. */
const BUSY = 'ERR_GW_QUEUE_SATURATED'

export interface ProbeParts {
  /** The gateway apart from its tenants. */
  readonly gateway: Gateway
  readonly key: string
  /** Returns a function that prevents the call. */
  readonly schedule: (delayMs: number, call: () => void) => () => void
}

export async function probe(name: string, parts: ProbeParts): Promise<ProbeResult> {
  const { clock, active } = parts.gateway
  const startedAt = clock.now()
  const route = active.snapshot.routes.get(name)
  const operation = route && operationOf(route, parts.gateway)
  if (route === undefined || operation === undefined)
    return { ok: false, why: 'no upstream serves an operation that can be probed', ms: 0 }
  const model = modelOf(route)
  if (model === undefined) return { ok: false, why: NO_MODEL, ms: 0 }
  let answer = await answerTo(operation, model, 1, parts)
  if (answer?.status === 400) answer = await answerTo(operation, model, TOKENS_MORE, parts)
  return { ...judged(answer), ms: Math.round(clock.now() - startedAt) }
}

const NO_MODEL =
  'its upstreams get the model that clients name; list a model without * in models of an upstream'

function operationOf(route: Route, { active }: Gateway): Operation | undefined {
  const lane = laneOf(route, active.lanes)
  return PROBED.find((operation) => {
    try {
      requireOperation({ operation }, route, lane)
      return true
    } catch (error) {
      if (error instanceof GatewayError) return false
      throw error
    }
  })
}

/** The name of the route, or of a model if the upstreams get the model that clients name. */
function modelOf({ name, members }: Route): string | undefined {
  if (!members.every(({ upstream }) => upstream.model === ANY_MODEL)) return name
  const named = members.flatMap(({ upstream }) => upstream.section.models ?? [])
  return named.find((model) => !model.includes('*'))
}

/** undefined: none in time. */
async function answerTo(
  operation: Operation,
  model: string,
  maxTokens: number,
  { gateway, key, schedule }: ProbeParts,
): Promise<OwnAnswer | undefined> {
  const { api, request } = smallestRequest(operation, model, maxTokens)
  const id = gateway.newRequestId()
  const { call, answer, leave } = ownCall(request, key, { id, receivedAt: gateway.clock.now() })
  const cancel = schedule(TIMEOUT_MS, leave)
  try {
    await serve(call, gateway, [], api)
  } finally {
    cancel()
  }
  return answer()
}

function judged(answer: OwnAnswer | undefined): Pick<ProbeResult, 'ok' | 'why'> {
  if (answer === undefined) return { ok: false, why: `no answer within ${TIMEOUT_MS / 1000} s` }
  const { status, headers, body } = answer
  if (status === 200) return { ok: true, why: `200 by ${headers.get('x-gw-upstream') ?? 'none'}` }
  const error = valueBelow(parsed(body.toString()), 'error')
  const code = textOf(valueBelow(error, 'code'))
  const said = `${status} ${code} ${textOf(valueBelow(error, 'message'))}`.replaceAll('  ', ' ')
  return { ok: code === BUSY ? undefined : false, why: said.trim() }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
