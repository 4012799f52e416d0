/**
 * The whole path of a request without a socket: the real pipeline between a client and upstreams
 * that are test objects, on a clock that the test advances.
 */

import { hash } from 'node:crypto'
import { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import type { Dispatcher } from 'undici'
import { InfraCost } from '../../../dataplane/accounts/infra-cost.ts'
import type { Store } from '../../../dataplane/accounts/store.ts'
import { openAiChat } from '../../../dataplane/apis/openai-chat/api.ts'
import { embeddingsReading } from '../../../dataplane/apis/openai-embeddings/reading.ts'
import { Embeddings } from '../../../dataplane/auxiliaries/embeddings.ts'
import { Deadlines } from '../../../dataplane/base/clock.ts'
import { Roster } from '../../../dataplane/base/roster.ts'
import { Bodies } from '../../../dataplane/body/bodies.ts'
import { loadConfiguration } from '../../../dataplane/config/load.ts'
import { compile, type Snapshot } from '../../../dataplane/config/snapshot.ts'
import { activeOf } from '../../../dataplane/gateway/active.ts'
import type { Gateway } from '../../../dataplane/gateway/gateway.ts'
import { Guards } from '../../../dataplane/guardrails/guards.ts'
import { Issuers } from '../../../dataplane/identity/issuers.ts'
import { AlertWebhook } from '../../../dataplane/limits/alerts/webhook.ts'
import { KnownRefusals } from '../../../dataplane/limits/known-refusals.ts'
import { Leases } from '../../../dataplane/limits/leases.ts'
import { NodeExchange } from '../../../dataplane/listener/node-exchange.ts'
import { serve } from '../../../dataplane/request/visit.ts'
import { Retrievals } from '../../../dataplane/retrieval/retrievals.ts'
import { Rollouts } from '../../../dataplane/rollout/rollouts.ts'
import { Shadows } from '../../../dataplane/rollout/shadows.ts'
import { Classifiers } from '../../../dataplane/semantic/classifiers.ts'
import { MemoryCells } from '../../../dataplane/store/cells/cells.ts'
import { HistoryBook } from '../../../dataplane/store/history/book.ts'
import { MemoryStore } from '../../../dataplane/store/memory/memory.ts'
import { UsageBook } from '../../../dataplane/store/usage-book.ts'
import { Changes } from '../../../dataplane/telemetry/changes.ts'
import { createMetrics, type Metrics } from '../../../dataplane/telemetry/metrics.ts'
import { Objectives } from '../../../dataplane/telemetry/slo.ts'
import { Traces } from '../../../dataplane/telemetry/traces.ts'
import { Targets } from '../../../dataplane/upstream/live/targets.ts'

const KEY = 'key-simulated'
const TRACES = 100
/** The limit of requests in flight. */
export const SLOTS = 100

export interface Simulation {
  readonly gateway: Gateway
  /** Exchanges that neither an upstream has ended nor the gateway has aborted. */
  readonly open: Set<UpstreamExchange>
  /** Answers each request to an upstream; by default it stays open. */
  onDispatch: (exchange: UpstreamExchange) => void
  call(body: Buffer, pieces?: number): SimulatedCall
  /** Advances the clock and runs due timers. */
  pass(milliseconds: number): void
  /** Everything that must be empty when no request is open. */
  leftovers(): Readonly<Record<string, number>>
}

/** `failureThreshold`: of the breakers; without it they never open. `wrap` can wrap the store. */
export function simulate(
  failureThreshold = 10_000,
  wrap: (store: Store) => Store = (store) => store,
): Simulation {
  const snapshot = aSnapshot(failureThreshold)
  let now = 0
  let ids = 0
  const clock = { now: () => now, wall: () => now }
  const metrics = createMetrics()
  const log = { event() {}, request() {}, flush() {} }
  const targets = new Targets({
    clock,
    random: Math.random,
    metrics,
    log,
    readText: () => '',
    env: {},
  })
  const deadlines = new Deadlines(clock)
  const store = wrap(new MemoryStore({ clock }))
  const embeddings = new Embeddings({
    clock,
    deadlines,
    metrics,
    targets,
    reading: embeddingsReading,
  })
  const gateway: Gateway = {
    active: activeOf(snapshot, targets.activate(snapshot)),
    env: {},
    clock,
    deadlines,
    random: Math.random,
    newRequestId: () => `s-${++ids}`,
    metrics,
    log,
    changes: new Changes(clock.wall),
    store,
    storeStatus: () => ({ backend: 'memory' }),
    followInStore: () => undefined,
    leases: new Leases(store, clock),
    refusals: new KnownRefusals(),
    bodies: new Bodies(1_073_741_824),
    webhook: new AlertWebhook({ post: async () => undefined, clock, random: () => 0, onDrop() {} }),
    guards: new Guards({ clock, metrics }),
    issuers: new Issuers({
      clock,
      random: Math.random,
      log,
      metrics,
      schedule: () => () => undefined,
    }),
    retrievals: new Retrievals({ clock, metrics, readText: () => '' }),
    embeddings,
    classifiers: new Classifiers({ embeddings, deadlines, clock }),
    infra: new InfraCost(0),
    usage: new UsageBook(),
    usageKept: { in: 'memory' },
    history: new HistoryBook(clock),
    historyKept: { in: 'memory' },
    usageEvents: undefined,
    objectives: new Objectives({ clock, metrics, log, alert() {} }),
    rollouts: new Rollouts({
      clock,
      random: Math.random,
      cells: new MemoryCells(),
      metrics,
      log,
      alert() {},
    }),
    shadows: new Shadows(metrics),
    traces: new Traces(TRACES),
    tracing: undefined,
    visits: new Roster(),
    draining: false,
    calledAt: Number.NEGATIVE_INFINITY,
  }
  const open = new Set<UpstreamExchange>()
  const simulation: Simulation = {
    gateway,
    open,
    onDispatch: () => {},
    call: (body, pieces = 1) => new SimulatedCall(simulation, body, pieces),
    pass(milliseconds) {
      now += milliseconds
      gateway.deadlines.sweep()
    },
    leftovers: () => leftoversOf(gateway, open),
  }
  replacePools(gateway, open, simulation)
  return simulation
}

/** One request at an upstream, as undici would drive it. */
export class UpstreamExchange {
  readonly upstream: string
  readonly #handler: Dispatcher.DispatchHandler
  readonly #open: Set<UpstreamExchange>

  constructor(upstream: string, handler: Dispatcher.DispatchHandler, open: Set<UpstreamExchange>) {
    this.upstream = upstream
    this.#handler = handler
    this.#open = open
    open.add(this)
    handler.onRequestStart?.(this.#controller, {})
  }

  head(status: number, type = 'text/event-stream'): void {
    const headers = { 'content-type': type }
    this.#tell(() => this.#handler.onResponseStart?.(this.#controller, status, headers))
  }

  data(text: string): void {
    this.#tell(() => this.#handler.onResponseData?.(this.#controller, Buffer.from(text)))
  }

  end(): void {
    this.#tell(() => this.#handler.onResponseEnd?.(this.#controller, {}))
    this.#open.delete(this)
  }

  fail(code: string): void {
    const error = Object.assign(new Error(code), { code })
    if (this.#open.delete(this)) this.#handler.onResponseError?.(this.#controller, error)
  }

  /** If a handler throws, its exchange is aborted, as undici does. */
  #tell(what: () => void): void {
    if (!this.#open.has(this)) return
    try {
      what()
    } catch (error) {
      this.#open.delete(this)
      this.#handler.onResponseError?.(this.#controller, error as Error)
    }
  }

  get #controller(): Dispatcher.DispatchController {
    const controller = {
      pause() {},
      resume() {},
      abort: (error: Error) => {
        if (this.#open.delete(this)) this.#handler.onResponseError?.(controller as never, error)
      },
    }
    // The exchange uses only this part of undici's controller.
    return controller as never
  }
}

/** A client with its connection. */
export class SimulatedCall {
  readonly wire = new Wire()
  readonly outgoing: ServerResponse
  /** Resolves when the gateway has finished with it. */
  readonly served: Promise<void>
  readonly #incoming: IncomingMessage
  readonly #pieces: Buffer[]
  readonly #simulation: Simulation

  constructor(simulation: Simulation, body: Buffer, pieces: number) {
    const { gateway } = simulation
    this.#simulation = simulation
    // Node's messages use only a duplex stream and two ways to close it.
    const socket = this.wire as Duplex as Socket
    const incoming = new IncomingMessage(socket)
    Object.assign(incoming, { method: 'POST', url: '/v1/chat/completions', httpVersion: '1.1' })
    incoming.rawHeaders = ['authorization', `Bearer ${KEY}`, 'content-type', 'application/json']
    const outgoing = new ServerResponse(incoming)
    outgoing.assignSocket(socket)
    outgoing.on('finish', () => {
      outgoing.detachSocket(socket)
      process.nextTick(() => outgoing.emit('close'))
    })
    this.#incoming = incoming
    this.outgoing = outgoing
    const size = Math.ceil(body.length / pieces)
    this.#pieces = Array.from({ length: pieces }, (_, at) =>
      body.subarray(at * size, (at + 1) * size),
    )
    const exchange = new NodeExchange(incoming, outgoing)
    const [id, receivedAt] = [gateway.newRequestId(), gateway.clock.now()]
    const call = { id, incoming: exchange, outgoing: exchange, receivedAt }
    this.served = serve(call, gateway, [], openAiChat)
  }

  /** The next piece of the body; false after the last one. */
  sendPiece(): boolean {
    this.#incoming.push(this.#pieces.shift() ?? Buffer.alloc(0))
    if (this.#pieces.length > 0) return true
    this.#incoming.complete = true
    this.#incoming.push(null)
    return false
  }

  sendAll(): void {
    while (this.sendPiece());
  }

  leave(): void {
    this.wire.destroy()
    if (!this.#incoming.complete) this.#incoming.destroy()
    void this.#rest()
  }

  /** The time for which the gateway reads an upstream after its client disconnects. */
  async #rest(): Promise<void> {
    let isServed = false
    void this.served.then(() => {
      isServed = true
    })
    for (let turns = 0; turns < REST_TURNS; turns++) {
      await turn()
      if (isServed) return
    }
    this.#simulation.pass(REST_MS)
  }
}

/** The turns that a request takes without waiting. */
const REST_TURNS = 3
const REST_MS = 300

/** The reading side of a client; it may stop reading. */
class Wire extends Duplex {
  heard = ''
  blocked = false

  constructor() {
    super({ highWaterMark: 1024 })
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.heard += chunk.toString('latin1')
    if (!this.blocked) done()
  }

  destroySoon(): void {
    this.end(() => this.destroy())
  }

  resetAndDestroy(): void {
    this.destroy()
  }
}

function replacePools(
  { active }: Gateway,
  open: Set<UpstreamExchange>,
  simulation: Simulation,
): void {
  for (const lane of active.lanes.values()) {
    for (const { name, state } of lane.targets) {
      const pool = {
        dispatch(_options: unknown, handler: Dispatcher.DispatchHandler) {
          simulation.onDispatch(new UpstreamExchange(name, handler, open))
          return true
        },
        close: async () => {},
      }
      // A pool is the only thing between an attempt and the network.
      Object.defineProperty(state, 'pool', { value: pool })
    }
  }
}

function leftoversOf(gateway: Gateway, open: Set<UpstreamExchange>) {
  const { metrics, deadlines, visits, active } = gateway
  const states = [...active.lanes.values()].flatMap((lane) => lane.targets)
  const now = gateway.clock.now()
  return {
    visits: visits.size,
    deadlines: deadlines.size,
    exchanges: open.size,
    upstreamInFlight: states.reduce((sum, { inFlight }) => sum + inFlight, 0),
    openBreakers: states.filter(({ state }) => state.breaker.peek(now) !== 'closed').length,
    requestsInFlight: sumOf(metrics.inFlight),
    streamsOpen: sumOf(metrics.streamsOpen),
  }
}

function sumOf(family: Metrics['inFlight']): number {
  return [...family.entries()].reduce((sum, [, { value }]) => sum + value, 0)
}

function aSnapshot(failureThreshold: number): Snapshot {
  const upstreams = ['primary', 'fallback'].map((name) => ({
    name,
    provider: 'openai',
    endpoint: 'http://127.0.0.1:1/v1',
    model: 'm',
    api_key: 'simulated',
    circuit_breaker: { failure_threshold: failureThreshold },
  }))
  const gw = {
    gateway: { request_timeout_seconds: 60, sse: { heartbeat_seconds: 5 } },
    upstreams,
    routes: [
      {
        name: 'chat',
        strategy: 'primary_with_fallback',
        primary: 'primary',
        fallback: ['fallback'],
        retry: { max_attempts: 3, initial_delay_ms: 1 },
      },
    ],
    // A slot that is not returned is soon missing.
    rate_limits: {
      default: { requests_per_minute: 10_000_000, burst: 1_000_000, concurrent_requests: SLOTS },
    },
    api_keys: [{ id: 'k', tenant: 'acme', routes: ['*'], hash: `sha256:${hash('sha256', KEY)}` }],
  }
  const document = { apiVersion: 'inference.gw/v1', kind: 'GatewayConfig', gw }
  const host = { env: { SIMULATED: 'secret' }, readText: () => '' }
  const text = JSON.stringify(document).replaceAll('"simulated"', '"${env:SIMULATED}"')
  const loaded = loadConfiguration(text, 'test.yaml', host)
  if (loaded.configuration === undefined) throw new Error(JSON.stringify(loaded.problems))
  return compile(loaded.configuration)
}
