/** Reading requests: bodies as chat completions, and the faulty member. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { chatReading } from '../../../dataplane/apis/openai-chat/reading.ts'
import { GatewayError } from '../../../dataplane/base/errors.ts'
import {
  forget,
  parseRequest,
  recall,
  scanBody,
  understand,
} from '../../../dataplane/body/request.ts'
import {
  MembersError,
  MembersScan,
  PIECE_BYTES,
  VALUES_MAX,
} from '../../../dataplane/json/members.ts'
import { parseInPieces } from '../../../dataplane/json/steps/pieces.ts'
import { PROVIDERS } from '../../../dataplane/providers/index.ts'
import { cases } from '../../helpers/cases.ts'
import { chatWith, someSettings } from '../../helpers/providers/a-request.ts'

const MESSAGES = [{ role: 'user', content: 'hi' }]

function parse(members: Readonly<Record<string, unknown>>) {
  return parseRequest(
    Buffer.from(JSON.stringify({ model: 'm', messages: MESSAGES, ...members })),
    chatReading,
    7,
  )
}

test('the gateway reads the members as they were sent', () => {
  const request = parse({ stream: true, stream_options: { include_usage: true }, max_tokens: 5 })
  assert.equal(request.stream, true)
  assert.equal(request.includeUsage, true)
  assert.equal(request.maxTokens, 5)
  assert.equal(request.createdSeconds, 7)
})

test('absent, null and false are no', () => {
  for (const members of [
    {},
    { stream: null, stream_options: null, max_tokens: null },
    { stream: false },
  ]) {
    const { stream, includeUsage, maxTokens } = parse(members)
    assert.deepEqual([stream, includeUsage, maxTokens], [false, false, undefined])
  }
})

test('the newer limit of tokens wins over the older', () => {
  assert.equal(parse({ max_tokens: 5, max_completion_tokens: 9 }).maxTokens, 9)
})

test('a limit of -1 or 0 tokens counts as absent, unless the other member has one', () => {
  for (const value of [-1, 0]) {
    const { maxTokens, unlimited, omitted, body } = parse({ max_tokens: value })
    assert.deepEqual([maxTokens, unlimited], [undefined, { member: 'max_tokens', value }])
    assert.deepEqual([omitted, 'max_tokens' in body], [new Set(['max_tokens']), false])
  }
  const { maxTokens, unlimited } = parse({ max_tokens: -1, max_completion_tokens: 9 })
  assert.deepEqual([maxTokens, unlimited], [9, undefined])
})

const WRONG: readonly [Readonly<Record<string, unknown>>, string][] = [
  [{ model: 1 }, 'model'],
  [{ model: '' }, 'model'],
  [{ messages: [] }, 'messages'],
  [{ messages: {} }, 'messages'],
  [{ messages: [null] }, 'messages[0].role'],
  [{ messages: [[]] }, 'messages[0].role'],
  [{ messages: [...MESSAGES, { role: 1 }] }, 'messages[1].role'],
  [{ messages: [{ role: 'user', content: {} }] }, 'messages[0].content'],
  [{ stream: 'true' }, 'stream'],
  [{ stream_options: [] }, 'stream_options'],
  [{ max_tokens: -2 }, 'max_tokens'],
  [{ max_tokens: -1_000_000 }, 'max_tokens'],
  [{ max_tokens: 1.5 }, 'max_tokens'],
  [{ max_tokens: 100_000_001 }, 'max_tokens'],
  [{ max_completion_tokens: '1' }, 'max_completion_tokens'],
  [{ n: 129 }, 'n'],
  [{ n: -1 }, 'n'],
]

for (const [members, param] of WRONG) {
  test(`${JSON.stringify(members)} is refused for ${param}`, () => {
    assert.throws(
      () => parse(members),
      (error) => {
        assert.ok(error instanceof GatewayError)
        return error.code === 'ERR_GW_INVALID_REQUEST' && error.details.param === param
      },
    )
  })
}

test('random JSON in every member ends in a request or a refusal of the client', () => {
  const member = fc.constantFrom('model', 'messages', 'stream', 'stream_options', 'max_tokens', 'n')
  fc.assert(
    fc.property(member, fc.jsonValue(), fc.string({ unit: 'binary' }), (name, value, text) => {
      for (const bytes of [
        Buffer.from(text),
        Buffer.from(JSON.stringify({ model: 'm', messages: MESSAGES, [name]: value })),
      ]) {
        try {
          const { maxTokens = 1 } = parseRequest(bytes, chatReading, 0)
          assert.ok(Number.isSafeInteger(maxTokens) && maxTokens > 0)
        } catch (error) {
          assert.ok(error instanceof GatewayError)
          assert.equal(error.status, 400)
        }
      }
    }),
    { numRuns: cases(1000, 5000) },
  )
})

/** Longer than what is parsed in one go, and than what is parsed at once. */
const LONG = 'x\n"é漢'.repeat(20_000)

test('a large body is read like a small one', () => {
  const messages = [
    ...Array.from({ length: 300 }, (_, at) => ({
      role: 'user',
      content: `${at}${'y'.repeat(900)}`,
    })),
    { role: 'user', content: [{ type: 'text', text: LONG }] },
    { role: 'user', content: LONG },
  ]
  const members = { model: 'm', messages, stream: true, max_tokens: 5, n: 2, tools: [{ a: LONG }] }
  const request = parseRequest(Buffer.from(JSON.stringify(members)), chatReading, 7)
  assert.deepEqual(request.body, members)
  const { stream, maxTokens, choices, sparse } = request
  assert.deepEqual([stream, maxTokens, choices, sparse], [true, 5, 2, false])
})

test('a large body keeps no long part that no reader needs, and all of it is checked', () => {
  const request = parse({ x: [LONG], short: [1] })
  assert.deepEqual(request.body, { model: 'm', messages: MESSAGES, short: [1] })
  for (const bad of ['[1,]', '{"a" 1}', '[01]', '["\\x"]', '[nul]']) {
    const json = JSON.stringify({ model: 'm', messages: MESSAGES, y: LONG, x: ['here', LONG] })
    const bytes = Buffer.from(json.replace('"here"', bad))
    assert.throws(() => parseRequest(bytes, chatReading, 0), /The body is not valid JSON/, bad)
  }
  const behind = Buffer.from(`${JSON.stringify({ model: 'm', messages: MESSAGES, x: LONG })}x`)
  assert.throws(() => parseRequest(behind, chatReading, 0), /not valid JSON/)
})

test('the shape of a large body is checked like that of a small one', () => {
  assert.throws(
    () => parse({ x: LONG, messages: [...MESSAGES, { role: 1 }] }),
    (error) => error instanceof GatewayError && error.details.param === 'messages[1].role',
  )
})

test('the tree of a large body can be dropped and built again; a dropped one is not taken for empty', async () => {
  const small = parse({})
  forget(small)
  assert.equal(recall(small, chatReading), undefined)
  assert.deepEqual(small.body.messages, MESSAGES)
  const large = parse({ tools: [LONG] })
  forget(large)
  assert.throws(() => large.body.messages, /dropped/)
  await recall(large, chatReading)
  assert.deepEqual(large.body, { model: 'm', messages: MESSAGES, tools: [LONG] })
})

test('many large bodies are read in turns that leave room for others', async () => {
  const bytes = Buffer.from(
    `{"model":"m","messages":${JSON.stringify(MESSAGES)},"x":[${'"a\\n",'.repeat(100_000)}1]}`,
  )
  let isOver = false
  const bodies = Promise.all(
    Array.from({ length: 8 }, async () => understand(await scanBody(bytes), chatReading, 0)),
  )
  const ended = bodies.finally(() => {
    isOver = true
  })
  let turns = 0
  while (!isOver) {
    await new Promise(setImmediate)
    turns++
  }
  assert.equal((await ended).length, 8)
  assert.ok(turns > 8, `${turns} turns`)
})

test('a provider reads no member of a body that would be missing from a large one', () => {
  const read = new Set<string>()
  const { body, ...rest } = parse({ tools: [{}], stop: 'a', stream: true })
  const watched = new Proxy(body, {
    get: (target, name, receiver) => {
      if (typeof name === 'string') read.add(name)
      return Reflect.get(target, name, receiver) as unknown
    },
  })
  for (const provider of [...PROVIDERS.values()]) {
    const bodies = [{ ...rest, body: watched }]
    for (const request of bodies) {
      try {
        chatWith(provider).encode(request, someSettings(), 5)
      } catch (error) {
        assert.ok(error instanceof GatewayError)
      }
    }
  }
  assert.deepEqual(
    [...read].filter((name) => name !== 'toJSON' && !chatReading.members.has(name)),
    [],
  )
})

const MEGABYTES = 8_000_000
const HOSTILE: Readonly<Record<string, (model: string) => string>> = {
  'a text of escapes': (model) => `{"model":"${model}","x":"${'\\"'.repeat(MEGABYTES / 2)}"}`,
  'a text that is read': (model) =>
    `{"model":"${model}","messages":[{"role":"user","content":"${'\\n漢'.repeat(MEGABYTES / 5)}"}]}`,
  'many short texts': (model) =>
    `{"model":"${model}","x":[${`"${'\\n'.repeat(25)}",`.repeat(VALUES_MAX - 10)}1]}`,
  'names that are all different': (model) =>
    `{"model":"${model}","messages":[{"role":"user","x":{${Array.from({ length: VALUES_MAX - 10 }, (_, at) => `"k${at}":1`).join()}}}]}`,
  'nothing but space': (model) => `{"model":"${model}","x":${' '.repeat(MEGABYTES)}1}`,
  'empty lists': (model) => `{"model":"${model}","x":[${'[],'.repeat(MEGABYTES / 3)}1]}`,
}

/** Four parts of a long string, or a run of short values that is hardly longer than a piece. */
const PARSED_IN_A_STEP_MAX = 4 * PIECE_BYTES + 2

for (const [what, written] of Object.entries(HOSTILE)) {
  test(`megabytes are parsed in short steps: ${what}`, (t) => {
    const bytes = Buffer.from(written('m'))
    const scan = new MembersScan(bytes)
    const parse = t.mock.method(JSON, 'parse')
    try {
      scan.run(bytes.length)
      const pieces = parseInPieces(bytes, scan, {
        keeps: (name) => chatReading.members.has(name),
      })
      let longest = 0
      for (let isOver = false; !isOver; ) {
        parse.mock.resetCalls()
        isOver = pieces.next().done === true
        const texts = parse.mock.calls.map(({ arguments: [text] }) => String(text).length)
        longest = Math.max(
          longest,
          texts.reduce((sum, one) => sum + one, 0),
        )
      }
      assert.ok(longest <= PARSED_IN_A_STEP_MAX, `${longest} characters in one step`)
    } catch (error) {
      assert.ok(error instanceof MembersError, String(error))
    }
  })
}

test('of two limits of the answer the larger is reserved, because runtimes disagree on which one holds', () => {
  for (const [one, other] of [
    [1, 900],
    [900, 1],
  ]) {
    const limits = `"max_tokens":${one},"max_completion_tokens":${other}`
    const text = `{"model":"m","messages":[{"role":"user","content":"hi"}],${limits}}`
    assert.equal(parseRequest(Buffer.from(text), chatReading, 0).maxTokens, 900)
  }
})
