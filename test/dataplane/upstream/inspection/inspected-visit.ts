/** One request through the whole pipeline with a toy inspector: the test plays the client and the upstream. */
import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { setImmediate as turn } from 'node:timers/promises'
import { openAiWire } from '../../../../dataplane/apis/openai/wire.ts'
import { openAiChatDialect } from '../../../../dataplane/apis/openai-chat/dialect.ts'
import type { PoolHandler } from '../../../../dataplane/connection/http1/contract.ts'
import { handle, serve as serveCall } from '../../../../dataplane/request/pipeline.ts'
import { serve } from '../../../../dataplane/request/visit.ts'
import type { ClientWire, Dialect } from '../../../../dataplane/wire/dialect.ts'
import type { AnswerEvent } from '../../../../dataplane/wire/inner-form.ts'
import type { Inspector, StreamInspector } from '../../../../dataplane/wire/inspection.ts'
import { aCall } from '../../an-answer.ts'
import { assemble } from '../../assembled-gateway.ts'
import { headed } from '../../headed.ts'

/** The wire of an upstream, as far as these tests need it. */
export interface Spoken {
  readonly provider: string
  readonly whole: string
  readonly begin: string
  word(text: string): string
  readonly end: string
}

const sse = (data: unknown) => `data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`
const typed = (data: { readonly type: string }) => `event: ${data.type}\n${sse(data)}`
const chunk = (choice: object) => sse({ id: 'c', model: 'm', choices: [{ index: 0, ...choice }] })

/** Each sends "hello", for 3 tokens of a prompt and 2 of an answer. */
export const SPOKEN: readonly Spoken[] = [
  {
    provider: 'openai',
    whole: JSON.stringify({
      id: 'c',
      model: 'm',
      choices: [{ index: 0, message: { content: 'hello' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 3, completion_tokens: 2 },
    }),
    begin: chunk({ delta: { role: 'assistant', content: '' } }),
    word: (text) => chunk({ delta: { content: text } }),
    end:
      chunk({ delta: {}, finish_reason: 'stop' }) +
      sse({ id: 'c', choices: [], usage: { prompt_tokens: 3, completion_tokens: 2 } }) +
      sse('[DONE]'),
  },
  {
    provider: 'anthropic',
    whole: JSON.stringify({
      id: 'c',
      type: 'message',
      model: 'm',
      content: [{ type: 'text', text: 'hello' }],
      stop_reason: 'end_turn',
      usage: { input_tokens: 3, output_tokens: 2 },
    }),
    begin:
      typed({
        type: 'message_start',
        ...{ message: { id: 'c', model: 'm', usage: { input_tokens: 3, output_tokens: 1 } } },
      }) +
      typed({
        type: 'content_block_start',
        ...{ index: 0, content_block: { type: 'text', text: '' } },
      }),
    word: (text) =>
      typed({ type: 'content_block_delta', ...{ index: 0, delta: { type: 'text_delta', text } } }),
    end:
      typed({
        type: 'message_delta',
        ...{ delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } },
      }) + typed({ type: 'message_stop' }),
  },
]

const PASSING: Inspector = {
  whole: (answer) => answer,
  open: () => ({ next: (events) => events, end: () => [] }),
}

export function aToy(toy: {
  whole?: Inspector['whole']
  stream?: () => StreamInspector
}): Inspector {
  return { whole: toy.whole ?? PASSING.whole, open: toy.stream ?? PASSING.open }
}

/** The changed text of an event. */
export function changed(event: AnswerEvent, change: (text: string) => string): AnswerEvent {
  if (event.kind !== 'delta' || event.delta.text === undefined) return event
  return { ...event, delta: { ...event.delta, text: change(event.delta.text) } }
}

/** An API other than chat completions, and the words of its request. */
interface Asking {
  readonly dialect: Dialect<'chat'>
  readonly wire: ClientWire
  readonly body: object
}

const CHAT: Asking = {
  dialect: openAiChatDialect,
  wire: openAiWire,
  body: { messages: [{ role: 'user', content: 'Hi' }] },
}

/** A request that was sent to the upstream, and waits for the test. */
export async function aVisit(
  spoken: Spoken,
  stream: boolean,
  inspector: Inspector | undefined,
  { dialect, wire, body }: Asking = CHAT,
) {
  const key = { id: 'k', tenant: 'acme', routes: ['*'] }
  // None has a further wire of clients.
  const native: string[] = []
  const upstream = { provider: spoken.provider, native, endpoint: 'http://127.0.0.1:1', model: 'm' }
  const { gateway, clock } = assemble({
    upstreams: [
      { name: 'up', ...upstream, circuit_breaker: { failure_threshold: 1 } },
      { name: 'other', ...upstream },
    ],
    routes: [
      { name: 'chat', strategy: 'primary_with_fallback', primary: 'up', fallback: ['other'] },
    ],
    api_keys: [{ ...key, hash: `sha256:${hash('sha256', 'key')}` }],
  })
  const heardByUpstream: string[] = []
  const handlers: PoolHandler[] = []
  const controller = {
    abort: ({ message }: Error) => void heardByUpstream.push(message),
    pause: () => void heardByUpstream.push('pause'),
    resume: () => void heardByUpstream.push('resume'),
  }
  const dispatch = (_: unknown, handler: PoolHandler) => {
    handlers.push(handler)
    handler.onRequestStart(controller)
  }
  const targets = gateway.active.lanes.get('chat')?.targets ?? []
  for (const { state } of targets) Object.defineProperty(state, 'pool', { value: { dispatch } })
  const bytes = Buffer.from(JSON.stringify({ model: 'chat', stream, ...body }))
  const head = headed({ authorization: 'Bearer key', 'content-type': 'application/json' })
  const { call, heard } = aCall({ ...head, takeWhole: () => bytes }, clock.now())
  const done = serve(call, gateway, [], {
    method: 'POST',
    path: '/v1/chat/completions',
    summary: '',
    wire,
    run: (visit) => handle(visit, dialect, (...asked) => serveCall(...asked, inspector)),
  })
  await turn()
  const last = () => handlers.at(-1) ?? assert.fail('Nothing was sent.')
  const type = stream ? 'text/event-stream' : 'application/json'
  last().onResponseStart(controller, 200, { 'content-type': type })
  return {
    gateway,
    heard,
    heardByUpstream,
    handlers,
    done,
    /** Sends this as the upstream; resolves when the gateway has handled it. */
    async say(...texts: readonly string[]): Promise<void> {
      for (const text of texts) last().onResponseData(controller, Buffer.from(text))
      await turn()
    },
    begin: () => last().onResponseStart(controller, 200, { 'content-type': type }),
    end: () => last().onResponseEnd(),
    fail: () => last().onResponseError(controller, new Error('reset')),
    async pass(seconds: number): Promise<void> {
      clock.pass(seconds * 1000)
      gateway.deadlines.sweep()
      await turn()
    },
    trace: () => gateway.traces.get('r-1') ?? assert.fail('There is no trace.'),
    breaker: () => targets[0]?.state.breaker.peek(clock.now()),
    /** The texts of the stream's events so far, one after the other. */
    text: () => wordsOf(heard.body).join('|'),
    charged: () =>
      [...gateway.metrics.tokens.entries()].map(([{ kind }, { value }]) => `${kind} ${value}`),
  }
}

function wordsOf(body: string): string[] {
  const events = [...body.matchAll(/^data: (\{.*)$/gm)].map(([, json = '']) => JSON.parse(json))
  return events.map(({ choices }) => choices?.[0]?.delta?.content).filter(Boolean)
}
