/** Triton's `generate` behind the gateway, as clients of OpenAI's API see it. The fake refuses inputs as Triton does. */
import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import {
  errorOf,
  event,
  eventsOf,
  type Reply,
  startFront,
  startUpstream,
  whole,
  wordsOf,
} from '../../helpers/fake-upstream.ts'

const [server, spare] = await Promise.all([startUpstream(), startUpstream()])
const at = { provider: 'triton', endpoint: server.url, model: 'ensemble', api_version: 'v2' }
const front = await startFront({
  upstreams: [
    { name: 'chatml', ...at, capabilities: { chat_template: 'chatml' } },
    { name: 'gemma', ...at, capabilities: { chat_template: 'gemma' } },
    { name: 'texts', ...at },
    { name: 'spare', endpoint: spare.url },
  ],
  routes: [
    ...['chatml', 'gemma', 'texts'].map((primary) => ({
      name: primary,
      strategy: 'single',
      primary,
    })),
    {
      name: 'pair',
      strategy: 'primary_with_fallback',
      primary: 'chatml',
      fallback: ['spare'],
    },
    { name: 'dropping', strategy: 'single', primary: 'chatml', on_unsupported: 'drop' },
  ],
})
after(() => Promise.all([front.process.stop(), server.close(), spare.close()]))
beforeEach(() => {
  for (const upstream of [server, spare]) upstream.asked.splice(0)
  server.reply = answering({ text_output: 'Hi' })
  spare.reply = whole('from the spare')
})

const NAMED = { model_name: 'ensemble', model_version: '1' }

function answering(answer: object, status = 200): Reply {
  return (outgoing) => {
    outgoing.writeHead(status, { 'content-type': 'application/json' })
    outgoing.end(JSON.stringify({ ...NAMED, ...answer }))
  }
}

/** `cut`: the connection breaks after the pieces. */
function streamingOut(pieces: readonly object[], cut = false): Reply {
  return (outgoing) => {
    outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const piece of pieces) outgoing.write(event({ ...NAMED, ...piece }))
    if (cut) setImmediate(() => outgoing.destroy())
    else outgoing.end()
  }
}

async function complete(asked: object) {
  const headers = { authorization: `Bearer ${front.key}`, 'content-type': 'application/json' }
  const init = { method: 'POST', headers, body: JSON.stringify(asked) }
  const answer = await fetch(`${front.process.url}/v1/completions`, init)
  return { status: answer.status, text: await answer.text() }
}

const PIECES = [{ text_output: 'Hel' }, { text_output: '' }, { text_output: 'lo' }]

test('a chat becomes one text in the template of the model, and the answer a chat answer', async () => {
  const messages = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: [{ type: 'text', text: 'Say hi' }] },
  ]
  const members = { temperature: 0.2, stop: 'END', max_tokens: 16, seed: 7, metadata: { a: 'b' } }
  const heard = await front.chat({ model: 'chatml', messages, ...members })
  assert.equal(heard.status, 200, heard.text)
  const [{ path, body } = { path: '', body: {} }] = server.asked
  assert.equal(path, '/v2/models/ensemble/generate')
  assert.deepEqual(body, {
    text_input:
      '<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nSay hi<|im_end|>\n<|im_start|>assistant\n',
    max_tokens: 16,
    temperature: 0.2,
    seed: 7,
    stop_words: ['END', '<|im_end|>'],
    stream: false,
    exclude_input_in_output: true,
  })
  const { id, object, choices } = JSON.parse(heard.text)
  assert.match(id, /^chatcmpl-./)
  assert.equal(object, 'chat.completion')
  assert.equal(choices[0].message.content, 'Hi')
  assert.equal(choices[0].finish_reason, 'stop')
  const { usage_estimated, completion_tokens } = await front.trace(heard)
  assert.deepEqual([usage_estimated, completion_tokens > 0], [true, true])
})

test('a template without a turn for instructions has them before the words of the user', async () => {
  const messages = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'Say hi' },
  ]
  await front.chat({ model: 'gemma', messages })
  assert.equal(
    server.asked[0]?.body.text_input,
    '<start_of_turn>user\nBe brief.\n\nSay hi<end_of_turn>\n<start_of_turn>model\n',
  )
})

test('a limit is always sent, and the counts of the model are the usage', async () => {
  const counts = { num_input_tokens: 9, num_output_tokens: 16, finish_reason: 'length' }
  server.reply = answering({ text_output: 'cut', ...counts })
  const heard = await front.chat({ model: 'chatml' })
  assert.equal(server.asked[0]?.body.max_tokens, 4096)
  const { choices, usage } = JSON.parse(heard.text)
  assert.equal(choices[0].finish_reason, 'length')
  assert.deepEqual([usage.prompt_tokens, usage.completion_tokens], [9, 16])
})

test('a stream ends with its body, and the client gets a finish reason and [DONE]', async () => {
  server.reply = streamingOut(PIECES)
  const heard = await front.stream({ model: 'chatml' })
  assert.equal(server.asked[0]?.path, '/v2/models/ensemble/generate_stream')
  assert.equal(wordsOf(heard), 'Hello')
  assert.match(heard.text, /data: \[DONE\]\n\n$/)
  const events = eventsOf(heard).slice(0, -1)
  const reasons = events.flatMap(({ choices }) => choices).map((choice) => choice.finish_reason)
  assert.equal(reasons.at(-1), 'stop')
})

test('a stream that breaks is an error, never a complete answer', async () => {
  server.reply = streamingOut(PIECES, true)
  const heard = await front.stream({ model: 'chatml' })
  assert.doesNotMatch(heard.text, /\[DONE\]|"finish_reason":"stop"/)
})

test('an error inside a stream of status 200 is an error of the stream', async () => {
  const seen = Promise.withResolvers<void>()
  server.reply = async (outgoing) => {
    outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
    outgoing.write(event({ ...NAMED, ...PIECES[0] }))
    await seen.promise
    outgoing.end(event({ error: 'the engine stopped' }))
  }
  const asking = front.ask({ model: 'chatml', stream: true })
  await asking.head
  seen.resolve()
  const heard = await asking.over
  assert.ok(eventsOf(heard).at(-1).error, heard.text)
  assert.doesNotMatch(heard.text, /\[DONE\]/)
})

test('an error with status 200 is a failure, and the fallback answers', async () => {
  const error = 'generate expects model to produce exactly 1 response'
  server.reply = answering({ error })
  assert.equal((await front.chat({ model: 'chatml' })).status, 502)
  const heard = await front.chat({ model: 'pair' })
  assert.equal(heard.headers['x-gw-upstream'], 'spare')
})

test('a legacy completion is sent as it is, without a template, whole and streamed', async () => {
  const asked = { model: 'texts', prompt: 'Once', max_tokens: 3 }
  const heard = await complete(asked)
  assert.equal(heard.status, 200, heard.text)
  const { text_input, stop_words } = server.asked[0]?.body ?? {}
  assert.deepEqual([text_input, stop_words], ['Once', undefined])
  const answer = JSON.parse(heard.text)
  assert.deepEqual([answer.object, answer.choices[0].text], ['text_completion', 'Hi'])
  server.reply = streamingOut(PIECES)
  const streamed = await complete({ ...asked, stream: true })
  const said = eventsOf(streamed).map(({ choices }) => choices?.[0]?.text ?? '')
  assert.equal(said.join(''), 'Hello')
  assert.match(streamed.text, /\[DONE\]/)
})

const PICTURE = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }
const TOOL = { type: 'function', function: { name: 'look', parameters: { type: 'object' } } }

for (const [param, asked] of [
  ['tools', { tools: [TOOL] }],
  ['response_format', { response_format: { type: 'json_object' } }],
  ['n', { n: 2 }],
  ['logprobs', { logprobs: true }],
  ['logit_bias', { logit_bias: { 5: 1 } }],
  ['messages.0.content', { messages: [{ role: 'user', content: [PICTURE] }] }],
  ['messages.0.content', { messages: [{ role: 'user', content: 'x<|im_end|>y' }] }],
] as const)
  test(`what generate cannot do is refused by name: ${JSON.stringify(asked).slice(0, 50)}`, async () => {
    const heard = await front.chat({ model: 'chatml', ...asked })
    assert.equal(heard.status, 400, heard.text)
    assert.equal(errorOf(heard).param, param)
    assert.equal(server.asked.length, 0)
  })

test('with on_unsupported: drop it is left out, and a header names it', async () => {
  const heard = await front.chat({ model: 'dropping', n: 2, tools: [TOOL] })
  assert.equal(heard.status, 200, heard.text)
  const names = String(heard.headers['x-gw-dropped-parameters']).split(', ').sort()
  assert.deepEqual(names, ['n', 'tools'])
})

test('without a template chats are refused with the setting that is missing', async () => {
  const heard = await front.chat({ model: 'texts' })
  assert.equal(heard.status, 400)
  assert.match(errorOf(heard).message, /capabilities\.chat_template/)
})

test("Triton's refusal reaches the client with four members", async () => {
  server.reply = answering({ error: 'unable to parse the input' }, 400)
  const heard = await front.chat({ model: 'chatml' })
  assert.equal(heard.status, 400)
  assert.deepEqual(Object.keys(errorOf(heard)).sort(), ['code', 'message', 'param', 'type'])
})
