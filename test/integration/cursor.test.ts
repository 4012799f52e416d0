/** Cursor sends /responses bodies to the chat completions path, and expects chat completions. */
import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import { answerWhole } from './hostile/fake-upstream.ts'
import { startFront } from './hostile/front.ts'
import { sendTo } from './hostile/send.ts'

const front = await startFront()
after(() => front.stop())
beforeEach(() => {
  front.upstream.reply = answerWhole
  front.upstream.asked.length = 0
})

const TOOL = {
  type: 'function',
  name: 'read_file',
  description: 'Reads a file.',
  parameters: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
}

async function ask(body: object) {
  const answer = await sendTo(front, { body: JSON.stringify({ model: 'chat', ...body }) })
  const [asked] = front.upstream.asked
  const sent = asked === undefined ? undefined : JSON.parse(String(asked.body))
  return { ...answer, sent, path: asked?.path }
}

test('a turn with tools goes to the upstream as a chat completion, and its answer is a chat completion', async () => {
  const input = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: [{ type: 'input_text', text: 'Read a.py' }] },
    { type: 'function_call', call_id: 'call_1', name: 'read_file', arguments: '{"path":"a.py"}' },
    { type: 'function_call_output', call_id: 'call_1', output: 'print(12345678901234567890)' },
  ]
  const more = { store: false, include: ['reasoning.encrypted_content'], user: 'u', stream: false }
  const { status, text, sent, path } = await ask({ input, tools: [TOOL], ...more })
  assert.equal(status, 200, text)
  assert.equal(JSON.parse(text).object, 'chat.completion')
  assert.equal(path, '/v1/chat/completions')
  assert.equal(sent.model, 'served')
  const { type: _, ...declared } = TOOL
  assert.partialDeepStrictEqual(sent.tools, [{ type: 'function', function: declared }])
  assert.deepEqual(
    sent.messages.map(({ role }: { role: string }) => role),
    ['system', 'user', 'assistant', 'tool'],
  )
  assert.equal(sent.messages[2].tool_calls[0].function.arguments, '{"path":"a.py"}')
  for (const member of ['input', 'include', 'store']) assert.equal(member in sent, false, member)
})

for (const [what, body] of [
  ['a text', { input: 'hi' }],
  ['messages that are empty', { input: 'hi', messages: [] }],
  ['an input of megabytes', { input: [{ role: 'user', content: 'word '.repeat(200_000) }] }],
] as const) {
  test(`${what} with input is accepted`, async () => {
    const { status, text, sent } = await ask(body)
    assert.equal(status, 200, text.slice(0, 300))
    assert.equal(sent.messages.length, 1)
  })
}

test('its stream has chunks of a chat completion, and usage only if it asked for usage', async () => {
  front.upstream.reply = (_asked, outgoing) => {
    const chunk = (members: object) =>
      `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'served', ...members })}\n\n`
    outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
    outgoing.write(
      chunk({ choices: [{ index: 0, delta: { role: 'assistant', content: 'hello' } }] }),
    )
    outgoing.write(chunk({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }))
    const usage = { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 }
    outgoing.end(`${chunk({ choices: [], usage })}data: [DONE]\n\n`)
  }
  const plain = await ask({ input: 'hi', stream: true })
  assert.match(plain.text, /"object":"chat.completion.chunk".*hello/s)
  assert.doesNotMatch(plain.text, /prompt_tokens/)
  assert.match(plain.text, /data: \[DONE\]/)
  const counted = await ask({ input: 'hi', stream: true, stream_options: { include_usage: true } })
  assert.match(counted.text, /prompt_tokens/)
})

test('a member without a counterpart in chat completions is refused by name, and messages win over input', async () => {
  for (const [member, body] of [
    ['previous_response_id', { input: 'hi', previous_response_id: 'resp_1' }],
    ['store', { input: 'hi', store: true }],
    ['messages', { input: 'hi', messages: 'no' }],
  ] as const) {
    const { status, text } = await ask(body)
    assert.deepEqual([status, JSON.parse(text).error.param], [400, member], text)
  }
  const { sent } = await ask({ input: 'left', messages: [{ role: 'user', content: 'right' }] })
  assert.equal(sent.messages[0].content, 'right')
})
