/** Requests on their way through attempts, with upstreams that answer on the test's command, on its clock. */

import { upstreamStatus } from '../../../dataplane/admin/status.ts'
import { openAiChatDialect } from '../../../dataplane/apis/openai-chat/dialect.ts'
import { Deadlines } from '../../../dataplane/base/clock.ts'
import type { GatewayError } from '../../../dataplane/base/errors.ts'
import { Presence } from '../../../dataplane/call/presence.ts'
import { loadConfiguration } from '../../../dataplane/config/load.ts'
import { compile } from '../../../dataplane/config/snapshot.ts'
import type { PoolHandler, PoolRequest } from '../../../dataplane/connection/http1/contract.ts'
import { attempt } from '../../../dataplane/request/stages/attempt.ts'
import { createMetrics } from '../../../dataplane/telemetry/metrics.ts'
import { Meter } from '../../../dataplane/tokens/meter.ts'
import type { TargetState } from '../../../dataplane/upstream/live/target-state.ts'
import { type Target, Targets } from '../../../dataplane/upstream/live/targets.ts'
import { aRequest } from '../../helpers/providers/a-request.ts'

type Fields = Readonly<Record<string, unknown>>

/** A request that an upstream has, until it is answered. */
export interface Asked {
  readonly upstream: string
  readonly request: PoolRequest
  /** Whether the gateway has abandoned it. */
  readonly aborted: boolean
  head(status: number, headers?: Readonly<Record<string, string>>): void
  data(text: string): void
  end(): void
  fail(code: string): void
  /** All at once. */
  answer(status: number, body: unknown): void
}

export type Outcome = { readonly kind: string } | { readonly refused: GatewayError }

export interface Rig {
  /** The requests that upstreams got, in order. */
  readonly asked: Asked[]
  /** The newest of it. */
  readonly last: Asked
  state(upstream: string): TargetState
  /** As the admin API reports it. */
  status(upstream: string): Fields
  /** Advances the clock, and calls what is due. */
  pass(seconds: number): void
  /** Begins a request; resolves with the result of its attempts. */
  send(members?: Fields, presence?: Presence): Promise<Outcome>
  /** The events of the requests' witness, in order. */
  readonly heard: readonly (readonly [what: string, of: unknown])[]
  readonly now: number
}

/** Members of `gw`; upstreams use `openai` by default. */
export function aRig(gw: {
  readonly upstreams: readonly Fields[]
  readonly routes: readonly Fields[]
}): Rig {
  let now = 1_000_000
  const clock = { now: () => now, wall: () => now }
  const deadlines = new Deadlines(clock)
  const upstreams = gw.upstreams.map((fields) => ({
    provider: 'openai',
    endpoint: 'http://127.0.0.1:1',
    model: 'm',
    context_window: 100_000,
    ...fields,
  }))
  const document = {
    apiVersion: 'inference.gw/v1',
    kind: 'GatewayConfig',
    gw: { ...gw, upstreams },
  }
  const host = { env: { KEY: 'sk-of-the-upstream' }, readText: () => '' }
  const loaded = loadConfiguration(JSON.stringify(document), 'test.yaml', host)
  if (loaded.configuration === undefined) throw new Error(JSON.stringify(loaded.problems))
  const snapshot = compile(loaded.configuration)
  const metrics = createMetrics()
  const log = { event() {}, request() {}, flush() {} }
  const world = { clock, metrics, log, random: () => 0.5, readText: () => '', env: {} }
  const lanes = new Targets(world).activate(snapshot)
  const asked: Asked[] = []
  const heard: [string, unknown][] = []
  // A copy: the entry of an attempt is closed later.
  const noted = (what: string) => (of: unknown) => void heard.push([what, structuredClone(of)])
  const states = new Map<string, TargetState>()
  const targetsByName = new Map<string, Target>()
  for (const { targets } of lanes.values()) {
    for (const target of targets) {
      const { name, state } = target
      targetsByName.set(name, target)
      states.set(name, state)
      // No upstream can be probed.
      state.retire()
      const dispatch = (request: PoolRequest, handler: PoolHandler) =>
        asked.push(begin(name, request, handler))
      Object.defineProperty(state, 'pool', { value: { dispatch } })
      Object.defineProperty(state, 'dispatchAnew', { value: dispatch })
    }
  }
  const gateway = { clock, deadlines, metrics, random: () => 0.5 }
  return {
    asked,
    heard,
    get last() {
      return asked.at(-1) as Asked
    },
    get now() {
      return now
    },
    state: (name) => states.get(name) as TargetState,
    status: (name) => upstreamStatus(targetsByName.get(name) as Target, clock),
    pass(seconds) {
      now += seconds * 1000
      deadlines.sweep()
    },
    async send(members = {}, presence = new Presence()) {
      const request = aRequest(members)
      const route = [...snapshot.routes.values()][0]
      if (route === undefined) throw new Error('There is no route.')
      const terms = {
        route,
        lane: lanes.get(route.name) ?? { targets: [], turn: 0 },
        meter: new Meter(),
        totalAt: now + (request.stream ? route.timeoutMs : route.silenceMs),
        maxTokens: undefined,
        fits: () => true,
        yields: false,
      }
      const asking = {
        request,
        dialect: openAiChatDialect,
        inspector: undefined,
        difficulty: undefined,
        ids: {
          requestId: 'tag-1',
          clientRequestId: 'tag-7',
          headers: ['x-client-request-id', 'tag-7'],
          context: undefined,
        },
        receivedAt: now,
        presence,
        witness: {
          passedOver: noted('passed over'),
          waited: noted('waited'),
          began: noted('began'),
          ended: noted('ended'),
        },
      }
      try {
        return await attempt(asking, terms, gateway)
      } catch (error) {
        return { refused: error as GatewayError }
      }
    },
  }
}

function begin(upstream: string, request: PoolRequest, handler: PoolHandler): Asked {
  const asked = {
    upstream,
    request,
    aborted: false,
    head: (status: number, headers = { 'content-type': 'application/json' }) =>
      handler.onResponseStart(controller, status, headers),
    data: (text: string) => handler.onResponseData(controller, Buffer.from(text)),
    end: () => handler.onResponseEnd(),
    fail: (code: string) =>
      handler.onResponseError(controller, Object.assign(new Error('broken'), { code })),
    answer(status: number, body: unknown) {
      asked.head(status)
      asked.data(typeof body === 'string' ? body : JSON.stringify(body))
      asked.end()
    },
  }
  const controller = {
    abort: () => {
      asked.aborted = true
    },
    pause: () => undefined,
    resume: () => undefined,
  }
  handler.onRequestStart(controller)
  return asked
}

export const ANSWER = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
}

export const EVENTS = { 'content-type': 'text/event-stream' }
export const CONTENT = 'data: {"choices":[{"index":0,"delta":{"content":"Hi"}}]}\n\n'
