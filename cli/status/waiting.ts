/** Waits until a gateway is ready, or until a condition of a GatewayConfig is true. */
import { setTimeout as delay } from 'node:timers/promises'
import { GatewayStatus } from '../../crds/gateway-config.ts'
import { valueBelow } from '../../dataplane/json/values.ts'
import type { KubeObject } from '../../operator/kube/objects.ts'
import { type AskedGateway, withGateways } from '../asking/asked-gateways.ts'
import { findGateway, withCluster } from '../asking/cluster-access.ts'
import { type InCluster, NothingRuns, type Place } from '../asking/place.ts'
import { AnswerIsNo } from '../printing/output.ts'

export interface ConditionWait {
  /** The type of a condition of a GatewayConfig. */
  readonly condition: string
  /** True, False or Unknown. */
  readonly value: string
  readonly timeoutMs: number
}

/** The gateway that meets the condition, and the sentence about it. */
export interface Met {
  readonly gateway: string
  readonly met: string
}

/** The success, or why the condition is not met yet. */
export type Look = Met | { readonly reason: string }

const LOOK_MS = 500
const READY_MS = 5000
const FIRST_MS = 1000

export async function waitInCluster(place: InCluster, waiting: ConditionWait): Promise<Met> {
  return await withCluster(place, async (access) => {
    return await untilMet(waiting.timeoutMs, async () => {
      try {
        return judged(await findGateway(access), waiting)
      } catch (error) {
        // The gateway may be created meanwhile.
        if (error instanceof AnswerIsNo) return { reason: error.message }
        throw error
      }
    })
  })
}

/** A gateway that does not run or answer yet may do so later. */
export async function waitStandAlone(
  placeNow: () => Promise<Place>,
  lookAt: (place: Place, signal: AbortSignal) => Promise<Look>,
  { timeoutMs }: Pick<ConditionWait, 'timeoutMs'>,
): Promise<Met> {
  return await untilMet(timeoutMs, async (signal) => {
    let place: Place
    try {
      place = await placeNow()
    } catch (error) {
      if (error instanceof NothingRuns) return { reason: error.message }
      throw error
    }
    return await lookAt(place, signal).catch((error: Error) => ({ reason: error.message }))
  })
}

export async function readiness(place: Place, signal: AbortSignal): Promise<Look> {
  return await withGateways(place, async ([gateway]) => {
    const origin = await gateway.clientUrl()
    // A client needs the right authority for TLS, and perhaps a certificate.
    if (origin.startsWith('https:')) return await serving(gateway)
    const url = `${origin}/readyz`
    const patience = AbortSignal.any([signal, AbortSignal.timeout(READY_MS)])
    const answer = await fetch(url, { signal: patience })
    const text = await answer.text()
    if (answer.status === 200) return readyAt(gateway)
    return { reason: `${url} answers with ${answer.status}: ${text.slice(0, 200)}` }
  })
}

async function serving(gateway: AskedGateway): Promise<Look> {
  const { body } = await gateway.ask('/status')
  const state = valueBelow(body, 'state')
  if (state === 'serving') return readyAt(gateway)
  return { reason: `the gateway at ${gateway.name} is ${state}` }
}

function readyAt({ name }: AskedGateway): Met {
  return { gateway: name, met: `gateway at ${name} is ready` }
}

/** A condition for an older generation does not apply to this one. */
export function judged(
  { metadata, status }: KubeObject,
  { condition: type, value }: Pick<ConditionWait, 'condition' | 'value'>,
): Look {
  const { name, generation = 0 } = metadata
  const { conditions } = GatewayStatus.parse(status ?? {})
  const found = conditions.find((condition) => condition.type === type)
  if (found === undefined) return { reason: `"${name}" has no condition ${type} yet` }
  if (Number(valueBelow(found, 'observedGeneration') ?? 0) < generation)
    return { reason: `the operator has not processed generation ${generation} of "${name}"` }
  const gateway = `gatewayconfig.inference.gw/${name}`
  const shown = value === 'True' ? type : `${type}=${value}`
  if (found.status === value) return { gateway, met: `${gateway} condition ${shown} met` }
  return { reason: `${type} of "${name}" is ${found.status}, ${found.reason}: ${found.message}` }
}

async function untilMet(
  timeoutMs: number,
  look: (signal: AbortSignal) => Promise<Look>,
): Promise<Met> {
  const end = performance.now() + timeoutMs
  // Even with a short timeout, a healthy server gets time for one answer.
  const firstEnd = Math.max(end, performance.now() + FIRST_MS)
  let reason: string | undefined
  for (;;) {
    const late = reason ?? 'no gateway has answered yet'
    const seen = await until(reason === undefined ? firstEnd : end, look, late)
    if ('met' in seen) return seen
    reason = seen.reason
    const leftMs = end - performance.now()
    if (leftMs <= 0) throw new AnswerIsNo(`Not within ${timeoutMs / 1000} s: ${reason}`)
    await delay(Math.min(LOOK_MS, leftMs))
  }
}

/** If a request has no answer by then, the reason is `late`. */
async function until(
  end: number,
  look: (signal: AbortSignal) => Promise<Look>,
  late: string,
): Promise<Look> {
  const looking = new AbortController()
  const waitMs = Math.max(0, end - performance.now())
  const timeIsUp = delay(waitMs, { reason: late }, { signal: looking.signal })
  try {
    return await Promise.race([look(looking.signal), timeIsUp])
  } finally {
    looking.abort()
  }
}
