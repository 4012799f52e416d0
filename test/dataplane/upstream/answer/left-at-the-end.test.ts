/** A client that leaves while a guardrail judges the last words of its stream. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Deadlines } from '../../../../dataplane/base/clock.ts'
import { SSE } from '../../../../dataplane/providers/openai-like/sse.ts'
import { Meter } from '../../../../dataplane/tokens/meter.ts'
import { Tap } from '../../../../dataplane/upstream/answer/tap.ts'
import { UpstreamStream } from '../../../../dataplane/upstream/answer/upstream-stream.ts'
import { Exchange } from '../../../../dataplane/upstream/attempt/exchange.ts'
import type { ClientReader } from '../../../../dataplane/wire/inspection.ts'
import type { WireMeaning } from '../../../../dataplane/wire/provider.ts'

const WORD = 'data: word\n\n'
const DONE = 'data: [DONE]\n\n'

/** Judges nothing before the end, and has no verdict on the whole. */
function open() {
  let now = 0
  const clock = { now: () => now, wall: () => now }
  const deadlines = new Deadlines(clock)
  const reader: ClientReader = {
    passesComments: false,
    facts: undefined as never,
    read(event): WireMeaning {
      const done = event.data === '[DONE]'
      return { out: '', content: !done, finished: done, done }
    },
    release: (isComplete) => (isComplete ? new Promise(() => {}) : Promise.resolve(NOTHING)),
    end: () => '',
  }
  const tap = new Tap(reader, SSE, new Meter().begin('up', 'm'))
  const receiver = {
    ...{ head() {}, written() {}, resend() {}, released() {} },
    data: (chunk: Buffer) => stream.data(chunk),
    end: () => stream.end(),
    fail: () => stream.fail({ class: 'reset', message: 'connection reset' }),
  }
  const exchange = new Exchange(
    receiver,
    { firstMs: 1000, idleMs: 1000, totalAt: 10_000 },
    clock,
    deadlines,
  )
  const controller = { pause() {}, resume() {}, abort() {} }
  exchange.onRequestStart(controller)
  const stream = new UpstreamStream(tap, SSE, exchange, { opened() {}, ended() {} })
  return {
    stream,
    exchange,
    controller,
    say: (text: string) => exchange.onResponseData(controller, Buffer.from(text)),
    pass(ms: number) {
      now += ms
      deadlines.sweep()
    },
  }
}

const NOTHING = { text: '', content: false, ended: false }

type Opened = ReturnType<typeof open>

const ENDS: readonly [string, (one: Opened) => void][] = [
  ['keeps its connection open', () => {}],
  ['ends its answer', ({ exchange }) => exchange.onResponseEnd()],
  [
    'resets its connection',
    ({ exchange, controller }) => exchange.onResponseError(controller, new Error('reset')),
  ],
]

for (const when of ['before', 'after'] as const) {
  for (const [what, end] of ENDS) {
    test(`the request ends if the upstream ${what} ${when} the client leaves, and there is no verdict`, async () => {
      const one = open()
      one.say(WORD)
      await new Promise(setImmediate)
      one.say(DONE)
      await new Promise(setImmediate)
      if (when === 'before') end(one)
      let isOver = false
      one.stream.leave(() => {
        isOver = true
      })
      if (when === 'after') end(one)
      one.pass(5000)
      await new Promise(setImmediate)
      assert.ok(isOver)
    })
  }
}
