/** A running attempt at an upstream that the test plays. */

import assert from 'node:assert/strict'
import { openAiChatDialect } from '../../../dataplane/apis/openai-chat/dialect.ts'
import { atOnce } from '../../../dataplane/base/steps.ts'
import type { PoolHandler, PoolRequest } from '../../../dataplane/connection/http1/contract.ts'
import { Meter } from '../../../dataplane/tokens/meter.ts'
import { pairOf } from '../../../dataplane/translation/pair.ts'
import { Attempt } from '../../../dataplane/upstream/attempt/attempt.ts'
import { writingBody } from '../../../dataplane/upstream/encoding/written-out.ts'
import { aRequest } from '../../helpers/providers/a-request.ts'
import { assemble } from '../assembled-gateway.ts'

type Fields = Readonly<Record<string, unknown>>

const UPSTREAM = { name: 'up', provider: 'openai', endpoint: 'http://127.0.0.1:1', model: 'm' }
export const JSON_HEAD = { 'content-type': 'application/json' }

export function anAttempt(members: Fields = {}, upstream: Fields = {}) {
  const breaker = { failure_threshold: 1, open_duration_seconds: 1 }
  const { gateway, clock } = assemble({
    upstreams: [{ ...UPSTREAM, circuit_breaker: breaker, ...upstream }],
    routes: [{ name: 'chat', strategy: 'single', primary: 'up' }],
  })
  const target = gateway.active.lanes.get('chat')?.targets[0] ?? assert.fail()
  const { settings, state } = target
  const sent: { readonly request: PoolRequest; readonly anew: boolean }[] = []
  const calls: string[] = []
  let handler: PoolHandler | undefined
  const controller = {
    abort: ({ message }: Error) => void calls.push(message),
    pause: () => void calls.push('pause'),
    resume: () => void calls.push('resume'),
  }
  const dispatchTo = (anew: boolean) => (request: PoolRequest, one: PoolHandler) => {
    sent.push({ request, anew })
    handler = one
    one.onRequestStart(controller)
  }
  Object.defineProperty(state, 'pool', { value: { dispatch: dispatchTo(false) } })
  Object.defineProperty(state, 'dispatchAnew', { value: dispatchTo(true) })
  const pair = pairOf(openAiChatDialect, settings.provider) ?? assert.fail()
  const request = aRequest(members)
  const meter = new Meter()
  const begin = () =>
    new Attempt({
      request,
      pair,
      upstream: atOnce(writingBody(pair.encode(request, settings, undefined))),
      target,
      permit: state.breaker.permit(clock.now()) ?? assert.fail('The breaker is open.'),
      metered: meter.begin('up', 'm'),
      gateway,
      maxTokens: undefined,
      totalAt: clock.now() + 60_000,
      hasBlamed: false,
    })
  const one = begin()
  const ids = { requestId: 'r-1', clientRequestId: undefined, headers: [], context: undefined }
  const wire = () => handler ?? assert.fail('Nothing was sent.')
  const answer = {
    head: (status: number, headers: Record<string, string> = JSON_HEAD) =>
      wire().onResponseStart(controller, status, headers),
    data: (text: string) => wire().onResponseData(controller, Buffer.from(text)),
    end: () => wire().onResponseEnd(),
    fail: (error: Error) => wire().onResponseError(controller, error),
    whole(status: number, body: unknown, headers = JSON_HEAD) {
      answer.head(status, headers)
      answer.data(typeof body === 'string' ? body : JSON.stringify(body))
      answer.end()
    },
  }
  const breakerState = () => state.breaker.peek(clock.now())
  return {
    one,
    begin,
    ids,
    answer,
    sent,
    calls,
    state,
    gateway,
    clock,
    breakerState,
    meter,
    request,
  }
}
