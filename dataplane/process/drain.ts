/** The end of the process: running requests get their time, then a clear end. */

import { setTimeout as delay } from 'node:timers/promises'
import { GatewayError } from '../base/errors.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { Environment } from '../wire/credential-source.ts'
import type { Listeners } from './listeners.ts'

/** A process without a call for this long ends after a short delay, because no client uses it. */
const IDLE_MS = 10_000
/** Long enough for most balancers to learn that it is not ready. */
const IDLE_DELAY_MS = 1500
/** Interval of the check whether the last request has ended. */
const LOOK_MS = 20
/** Finished answers get this long to be sent. */
const FLUSH_MS = 500
/** Waiting alerts get this part of the drain timeout, enough for a second attempt; at least as long as answers. */
const ALERTS_MS = 7000
/** Part of the drain timeout for waiting traces and usage events. */
const SPANS_MS = 2000

export interface DrainSeconds {
  /** Readiness is off, but new requests are still served: load balancers learn late. Less for a process without calls. */
  readonly delay: number
  /** Requests in flight may run this long. */
  readonly timeout: number
}

export function drainSeconds({ active }: Gateway, env: Environment): DrainSeconds {
  const { drain_timeout_seconds } = active.snapshot.section.gateway
  return {
    delay: Number(env.GW_DRAIN_DELAY_SECONDS || 0),
    timeout: Number(env.GW_DRAIN_TIMEOUT_SECONDS || drain_timeout_seconds),
  }
}

export interface Ending {
  readonly seconds: DrainSeconds
  /** Resolves once running requests have to be cut. */
  readonly hurried: Promise<unknown>
  /** Resolves once all workers have ended. */
  readonly workersEnd?: Promise<unknown> | undefined
}

/** Readiness off, delay, no new connections, wait for running requests, then cut them; workers do the same meanwhile. */
export async function drain(
  gateway: Gateway,
  listeners: Listeners,
  { seconds, hurried, workersEnd }: Ending,
): Promise<void> {
  gateway.draining = true
  gateway.log.event('info', 'drain', 'Draining: readiness is off, requests in flight finish.', {
    ...seconds,
  })
  for (const visit of gateway.visits.list()) visit.closeBehind()
  let now = false
  void hurried.then(() => {
    now = true
  })
  const { clock, visits } = gateway
  const shortest = clock.now() + IDLE_DELAY_MS
  const isIdle = () => visits.size === 0 && clock.now() - gateway.calledAt > IDLE_MS
  await until(() => now || (clock.now() > shortest && isIdle()), seconds.delay * 1000)
  listeners.stopAccepting()
  const end = performance.now() + seconds.timeout * 1000
  await until(() => now || gateway.visits.size === 0, seconds.timeout * 1000)
  for (const visit of gateway.visits.list()) visit.cut(shuttingDown)
  await until(() => gateway.visits.size === 0, FLUSH_MS)
  // The last metrics contain theirs.
  await workersEnd
  await listeners.close()
  const left = Math.min(ALERTS_MS, Math.max(FLUSH_MS, end - performance.now()))
  const { tracing, usageEvents, sending } = gateway
  const leaving = [tracing?.exporter, usageEvents, sending].filter((one) => one !== undefined)
  for (const one of leaving) one.flush()
  const spansEnd = performance.now() + Math.min(SPANS_MS, left)
  const isSent = () => leaving.every(({ isIdle }) => isIdle) || performance.now() >= spansEnd
  await until(() => now || (gateway.webhook.waiting === 0 && isSent()), left)
  const { waiting } = gateway.webhook
  if (waiting > 0) gateway.log.event('warn', 'drain', `${waiting} alerts were not delivered.`)
  const events = usageEvents?.waiting ?? 0
  if (events > 0) {
    const message = `${events} events of usage were not delivered.`
    gateway.log.event('error', 'drain', message, { usage_events: events })
  }
}

/** Resolves with the next SIGTERM or SIGINT. */
export function nextSignal(): Promise<void> {
  return new Promise((resolve) => {
    process.once('SIGTERM', () => resolve())
    process.once('SIGINT', () => resolve())
  })
}

function shuttingDown(hasBegun: boolean): GatewayError {
  const message = 'The gateway is shutting down; send the request again.'
  return hasBegun
    ? new GatewayError('ERR_GW_STREAM_ABORTED', message)
    : new GatewayError('ERR_GW_OVERLOADED', message, { retryAfterSeconds: 1 })
}

async function until(done: () => boolean, milliseconds: number): Promise<void> {
  const end = performance.now() + milliseconds
  while (!done() && performance.now() < end) await delay(LOOK_MS)
}
