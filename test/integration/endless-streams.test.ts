/**
 * Six upstreams send endless answers at once through a gateway with the heap of a small pod; and
 * what tenants share.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { aKey } from '../helpers/a-key.ts'
import { askFor, type Reply, startFront, startUpstream } from '../helpers/fake-upstream.ts'

type Event = Readonly<Record<string, unknown>> & { readonly type: string }

const LONG = 'x'.repeat(60_000)
const sse = (event: Event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
const start = (index: number | string, content_block: object) =>
  sse({ type: 'content_block_start', index, content_block })
const delta = (index: number, piece: object) =>
  sse({ type: 'content_block_delta', index, delta: piece })
const stop = (index: number) => sse({ type: 'content_block_stop', index })

/** Each function makes its nth piece. */
const ENDLESS: Readonly<Record<string, (time: number) => string>> = {
  redacted: () => start(1, { type: 'redacted_thinking', data: LONG }) + stop(1),
  open_blocks: (time) => start(1 + time, { type: 'redacted_thinking', data: LONG }),
  signature: () => delta(1, { type: 'signature_delta', signature: LONG }),
  thinking: () => delta(1, { type: 'thinking_delta', thinking: LONG }),
  input: (time) => start(1 + time, { type: 'tool_use', id: 'c', name: 'f', input: { a: LONG } }),
  // Words come first, so that the client has some before the end.
  index: (time) =>
    time < 40
      ? delta(0, { type: 'text_delta', text: LONG })
      : start(`${time}${LONG}`, { type: 'tool_use', id: 'c', name: 'f', input: {} }),
}

/** Begins well, and then continues as long as the client reads. */
const endless =
  (piece: (time: number) => string): Reply =>
  async (outgoing) => {
    outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
    outgoing.write(sse({ type: 'message_start', message: { id: 'm', model: 'claude-m' } }))
    outgoing.write(delta(0, { type: 'text_delta', text: 'hello' }))
    outgoing.setMaxListeners(0)
    for (let time = 0; !outgoing.closed; time++) {
      if (!outgoing.write(piece(time)))
        await new Promise((go) => outgoing.once('drain', go).once('close', go))
    }
  }

const names = Object.keys(ENDLESS)
const upstreams = await Promise.all(
  Object.values(ENDLESS).map((piece) => startUpstream(endless(piece))),
)
const claude = await startUpstream()
const [one, other] = [aKey({ id: 'one', tenant: 'one' }), aKey({ id: 'other', tenant: 'other' })]
const front = await startFront(
  {
    api_keys: [one.record, other.record],
    upstreams: [
      ...names.map((name, at) => ({ name, provider: 'anthropic', endpoint: upstreams[at]!.url })),
      { name: 'claude', provider: 'anthropic', endpoint: claude.url },
    ],
    routes: [...names, 'claude'].map((name) => ({ name, strategy: 'single', primary: name })),
  },
  { env: { NODE_OPTIONS: '--max-old-space-size=700' } },
)
after(async () => {
  await front.process.stop()
  await Promise.all([...upstreams, claude].map((upstream) => upstream.close()))
})
const ask = (key: string, fields: object) => askFor(front.process.url, key, { ...fields }).over

test('six endless streams end with an error event each, and the gateway keeps running', async () => {
  const heard = await Promise.all(names.map((model) => ask(one.key, { model, stream: true })))
  for (const [at, answer] of heard.entries()) {
    assert.ok(answer.text.slice(0, 2_000).includes('"hello"'), String(names[at]))
    const last = answer.text.slice(answer.text.lastIndexOf('data: '))
    const reason = names[at] === 'index' ? /whole number below/ : /larger than 32 MiB/
    assert.match(last, /"ERR_GW_STREAM_ABORTED"/)
    assert.match(last, reason)
  }
  claude.reply = (outgoing) => {
    outgoing.writeHead(200, { 'content-type': 'application/json' })
    outgoing.end(JSON.stringify({ content: [{ type: 'text', text: 'alive' }] }))
  }
  const { status, text } = await ask(one.key, { model: 'claude' })
  assert.deepEqual([status, text.includes('alive')], [200, true])
})

test('the thinking of one tenant is not sent for another tenant that knows the id of its call', async () => {
  const thought = { type: 'redacted_thinking', data: 'eA==' }
  const call = { type: 'tool_use', id: 'toolu_1', name: 'f', input: {} }
  claude.reply = (outgoing) => {
    outgoing.writeHead(200, { 'content-type': 'application/json' })
    outgoing.end(JSON.stringify({ content: [thought, call], stop_reason: 'tool_use' }))
  }
  const tools = [{ type: 'function', function: { name: 'f' } }]
  const user = { role: 'user', content: 'hi' }
  await ask(one.key, { model: 'claude', tools, reasoning_effort: 'low' })
  const calls = [{ id: 'toolu_1', type: 'function', function: { name: 'f', arguments: '{}' } }]
  const history = [
    user,
    { role: 'assistant', content: null, tool_calls: calls },
    { role: 'tool', tool_call_id: 'toolu_1', content: '1' },
  ]
  const again = { model: 'claude', tools, reasoning_effort: 'low', messages: history }
  const sent: string[] = []
  for (const { key } of [other, one]) {
    assert.equal((await ask(key, again)).status, 200)
    sent.push(JSON.stringify(claude.asked.at(-1)?.body))
  }
  assert.deepEqual(
    sent.map((body) => body.includes('redacted_thinking')),
    [false, true],
  )
})
