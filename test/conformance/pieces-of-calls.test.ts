/** The pieces in which servers send tool calls, and the calls that clients of each API read from them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  asked,
  chunksOf,
  heard,
  joined,
  piece,
  streamed,
} from '../helpers/conversations/one-answer.ts'

const LIKE_OPENAI = ['vllm', 'sglang', 'llamacpp', 'openai', 'azure_openai']
const READ = ['tgi', 'triton', 'mistral']
/** The pairs whose streams of chunks are read. */
const PAIRS = [
  ...READ.map((provider) => ['chat', provider] as const),
  ...[...LIKE_OPENAI, ...READ].flatMap((provider) => [
    ['messages', provider] as const,
    ['responses', provider] as const,
  ]),
]
const BODY = {
  chat: { messages: [{ role: 'user', content: 'Hi' }] },
  messages: { max_tokens: 100, messages: [{ role: 'user', content: 'Hi' }] },
  responses: { input: 'Hi' },
}
const NAME = { index: 0, id: 'call_a', type: 'function' }

interface Expected {
  readonly calls: readonly (readonly [name: string, args: string])[]
  readonly text?: string
  readonly thinking?: string
  readonly ids?: readonly string[]
}

function readsAs(sentence: string, bytes: Buffer, expected: Expected): void {
  for (const [api, provider] of PAIRS) {
    test(`${api} from ${provider}: ${sentence}`, () => {
      const wire = joined(api, provider)
      const request = asked(wire, { model: 'm', stream: true, ...BODY[api] })
      const came = streamed(wire, request, bytes)
      assert.equal(came.failure, undefined)
      const { calls, text, thinking, endsWithCalls, isWhole } = heard(wire, came)
      assert.deepEqual(
        calls.map(({ name, args }) => [name, args]),
        expected.calls,
      )
      const ids = calls.map(({ id }) => id)
      assert.ok(ids.every((id) => /^[a-zA-Z0-9_-]+$/.test(id)))
      assert.equal(new Set(ids).size, ids.length)
      if (expected.ids !== undefined) assert.deepEqual(ids, expected.ids)
      assert.equal(text, expected.text ?? '')
      assert.equal(thinking?.text ?? '', expected.thinking ?? '')
      assert.deepEqual([isWhole, endsWithCalls], [true, expected.calls.length > 0])
    })
  }
}

readsAs(
  'text between the pieces of a call waits until the call is whole',
  chunksOf([
    piece(NAME, { name: 'Bash', arguments: '' }),
    piece({ index: 0 }, { arguments: '{"command": "ls' }),
    { content: '\n', ...piece({ index: 0 }, { arguments: ' -la"}' }) },
    { content: 'Done.' },
  ]),
  { calls: [['Bash', '{"command": "ls -la"}']], text: '\nDone.', ids: ['call_a'] },
)

readsAs(
  'two ids at one index are two calls',
  chunksOf([
    piece(NAME, { name: 'a', arguments: '{"x":1}' }),
    piece({ ...NAME, id: 'call_b' }, { name: 'b', arguments: '{"y":2}' }),
  ]),
  {
    calls: [
      ['a', '{"x":1}'],
      ['b', '{"y":2}'],
    ],
    ids: ['call_a', 'call_b'],
  },
)

readsAs(
  'two ids without an index are two calls, and a piece without both belongs to the last one',
  chunksOf([
    piece({ id: 'call_a' }, { name: 'a', arguments: '{}' }),
    piece({ id: 'call_b' }, { name: 'a', arguments: '{' }),
    piece({}, { arguments: '}' }),
  ]),
  {
    calls: [
      ['a', '{}'],
      ['a', '{}'],
    ],
    ids: ['call_a', 'call_b'],
  },
)

readsAs(
  'two whole calls at one index without an id are two calls',
  chunksOf([
    piece({ index: 0 }, { name: 'a', arguments: '{"x":1}' }),
    piece({ index: 0 }, { name: 'a', arguments: '{"x":2}' }),
  ]),
  {
    calls: [
      ['a', '{"x":1}'],
      ['a', '{"x":2}'],
    ],
  },
)

readsAs(
  'a call without an id gets one, and keeps its name',
  chunksOf([piece({ index: 0 }, { name: 'Bash', arguments: '{"a":1}' })]),
  { calls: [['Bash', '{"a":1}']] },
)

readsAs(
  'a name after the arguments is the name of the call',
  chunksOf([
    piece({ index: 0, id: 'call_a' }, { arguments: '{"a"' }),
    piece({ index: 0 }, { arguments: ':1}' }),
    piece({ index: 0 }, { name: 'Bash' }),
  ]),
  { calls: [['Bash', '{"a":1}']], ids: ['call_a'] },
)

readsAs(
  'an id after the name belongs to the same call',
  chunksOf([
    piece({ index: 0 }, { name: 'Bash' }),
    piece({ index: 0, id: 'call_a' }, { arguments: '{"a":1}' }),
  ]),
  { calls: [['Bash', '{"a":1}']] },
)

readsAs(
  'a repeated name and id add nothing',
  chunksOf([
    piece(NAME, { name: 'Bash', arguments: '{"a"' }),
    piece(NAME, { name: 'Bash', arguments: ':1}' }),
  ]),
  { calls: [['Bash', '{"a":1}']], ids: ['call_a'] },
)

readsAs(
  'calls that grow in turns stay separate',
  chunksOf([
    {
      tool_calls: [
        { index: 0, id: 'call_a', function: { name: 'a', arguments: '{' } },
        { index: 1, id: 'call_b', function: { name: 'b', arguments: '{' } },
      ],
    },
    piece({ index: 0 }, { arguments: '"x":1}' }),
    piece({ index: 1 }, { arguments: '"y":2}' }),
  ]),
  {
    calls: [
      ['a', '{"x":1}'],
      ['b', '{"y":2}'],
    ],
    ids: ['call_a', 'call_b'],
  },
)

readsAs(
  'calls beside `stop` end with calls',
  chunksOf([piece(NAME, { name: 'Bash', arguments: '{}' })], 'stop'),
  { calls: [['Bash', '{}']] },
)

readsAs(
  '`tool_calls` without a call ends like text',
  chunksOf([{ content: 'Done.' }], 'tool_calls'),
  { calls: [], text: 'Done.' },
)

readsAs(
  'a call without arguments has an empty object',
  chunksOf([piece(NAME, { name: 'Bash', arguments: '' })]),
  { calls: [['Bash', '{}']], ids: ['call_a'] },
)

for (const [api, provider] of PAIRS) {
  const wire = joined(api, provider)
  const request = () => asked(wire, { model: 'm', stream: true, ...BODY[api] })

  test(`${api} from ${provider}: an event of 1.5 MB ends the answer with an error`, () => {
    const large = JSON.stringify({ x: 'y'.repeat(1_500_000) })
    const bytes = chunksOf([piece(NAME, { name: 'Bash', arguments: large })])
    // It arrives in several reads, as from a socket.
    const at = bytes.indexOf('yyyy') + 1_200_000
    const { isWhole, failure } = streamed(wire, request(), bytes, at)
    assert.match(failure ?? '', /cannot be read/)
    assert.equal(isWhole, false)
  })

  test(`${api} from ${provider}: a call that never gets its name ends the answer with an error`, () => {
    const bytes = chunksOf([piece({ index: 0, id: 'call_a' }, { arguments: '{"a":1}' })])
    const { isWhole, failure } = streamed(wire, request(), bytes)
    assert.deepEqual([isWhole, failure], [false, 'The upstream called a tool without its name.'])
  })

  test(`${api} from ${provider}: an id of an earlier turn is another one in the next`, () => {
    const history = {
      chat: {
        messages: [
          { role: 'user', content: 'Hi' },
          {
            role: 'assistant',
            content: null,
            tool_calls: [
              { id: 'call_0', type: 'function', function: { name: 'a', arguments: '{}' } },
            ],
          },
          { role: 'tool', tool_call_id: 'call_0', content: 'ok' },
        ],
      },
      messages: {
        max_tokens: 100,
        messages: [
          { role: 'user', content: 'Hi' },
          {
            role: 'assistant',
            content: [{ type: 'tool_use', id: 'call_0', name: 'a', input: {} }],
          },
          {
            role: 'user',
            content: [{ type: 'tool_result', tool_use_id: 'call_0', content: 'ok' }],
          },
        ],
      },
      responses: {
        input: [
          { role: 'user', content: 'Hi' },
          { type: 'function_call', call_id: 'call_0', name: 'a', arguments: '{}' },
          { type: 'function_call_output', call_id: 'call_0', output: 'ok' },
        ],
      },
    }
    const again = () => asked(wire, { model: 'm', stream: true, ...history[api] })
    const bytes = chunksOf([piece({ index: 0, id: 'call_0' }, { name: 'a', arguments: '{}' })])
    const ids = [again(), again()].map(
      (one) => heard(wire, streamed(wire, one, bytes)).calls.map(({ id }) => id)[0],
    )
    assert.match(ids[0] ?? '', /^(call|toolu)_[0-9a-f]{24}$/)
    assert.equal(ids[0], ids[1])
  })
}

for (const provider of ['vllm', 'sglang']) {
  test(`messages from ${provider}: the stop sequence is named, in a stream and in a whole answer`, () => {
    const wire = joined('messages', provider)
    const member = provider === 'vllm' ? 'stop_reason' : 'matched_stop'
    const body = { model: 'm', ...BODY.messages, stop_sequences: ['END'] }
    const bytes = chunksOf([{ content: 'Done.' }], 'stop', { [member]: 'END' })
    const { text } = streamed(wire, asked(wire, { ...body, stream: true }), bytes)
    assert.match(text, /"stop_reason":"stop_sequence","stop_sequence":"END"/)
    const message = { role: 'assistant', content: 'Done.' }
    const choice = { index: 0, message, finish_reason: 'stop', [member]: 'END' }
    const whole = Buffer.from(JSON.stringify({ id: 'a', model: 'm', choices: [choice] }))
    const passed = wire.pair.decode(whole, asked(wire, body), { model: 'm', id: 'r' })
    assert.ok(passed.kind === 'body')
    const { stop_reason: reason, stop_sequence: sequence } = JSON.parse(String(passed.body))
    assert.deepEqual([reason, sequence], ['stop_sequence', 'END'])
  })
}

for (const provider of LIKE_OPENAI)
  test(`chat from ${provider}: calls whose index begins at 1 or has gaps are numbered from 0`, () => {
    const wire = joined('chat', provider)
    const request = asked(wire, { model: 'm', stream: true, ...BODY.chat })
    const { text } = streamed(
      wire,
      request,
      chunksOf([
        piece({ ...NAME, index: 1 }, { name: 'a', arguments: '' }),
        piece({ index: 1 }, { arguments: '{"x":1}' }),
        piece({ ...NAME, index: 4, id: 'call_b' }, { name: 'b', arguments: '' }),
        piece({ index: 4 }, { arguments: '{}' }),
      ]),
    )
    const indexes = [...text.matchAll(/"tool_calls":\[\{[^}]*?"index":(\d+)/g)].map(
      ([, one]) => one,
    )
    assert.deepEqual(indexes, ['0', '0', '1', '1'], text)
  })
