/** The requirements of every provider; a new one is tested as soon as it is in the registry. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openAiChatDialect } from '../../dataplane/apis/openai-chat/dialect.ts'
import { GatewayError } from '../../dataplane/base/errors.ts'
import { KeptText } from '../../dataplane/base/kept-text.ts'
import { providerNamed } from '../../dataplane/config/document/canonical.ts'
import type { Json } from '../../dataplane/json/values.ts'
import { PROVIDER_FACTS, PROVIDER_NAMES, PROVIDERS } from '../../dataplane/providers/index.ts'
import type { Provider, WireEvent, WireMeaning } from '../../dataplane/wire/provider.ts'
import {
  aRequest,
  aRequestOf,
  chatStream,
  chatWith,
  ORIGIN,
  settingsOf,
  someSettings,
} from '../helpers/providers/a-request.ts'
import {
  type AnswerCase,
  CANONICAL,
  type ErrorCase,
  type EventCase,
  fixtureNames,
  type RequestCase,
  readCases,
  readEvents,
  type StreamCase,
  streamNames,
} from '../helpers/providers/provider-fixtures.ts'
import {
  AUTHENTICATION,
  assertHolds,
  HEADERS,
  HOSTILE,
  usageOf,
  variants,
} from '../helpers/providers/verdicts.ts'

// biome-ignore lint/suspicious/noExplicitAny: read like a client without types reads.
type Chunk = any

const SECRET = someSettings().credential
const CANARY = 'canary-4711'
const FINISH_REASONS = ['stop', 'length', 'tool_calls', 'content_filter', 'function_call']

test('the facts of every provider are under its name', () => {
  for (const [name, facts] of Object.entries(PROVIDER_FACTS)) assert.equal(facts.name, name)
})

test('no two providers understand the same name', () => {
  const aliases = Object.values(PROVIDER_FACTS).flatMap(({ aliases = [] }) => aliases)
  const names = PROVIDER_NAMES.map((name) => name.replaceAll('_', ''))
  assert.equal(new Set([...names, ...aliases]).size, names.length + aliases.length)
  for (const { name, spellings = [] } of Object.values(PROVIDER_FACTS)) {
    for (const spelling of spellings) assert.equal(providerNamed(spelling), name)
  }
  for (const alias of aliases) assert.match(alias, /^[a-z0-9]+$/)
})

test('the registry is in the order of the names, each under its own, and each has fixtures', () => {
  const names: string[] = [...PROVIDERS.keys()]
  assert.deepEqual(
    names,
    PROVIDER_NAMES.filter((name) => names.includes(name)),
  )
  assert.deepEqual(names.toSorted(), fixtureNames().toSorted())
})

for (const { name, ...facts } of Object.values(PROVIDER_FACTS)) {
  test(`${name}: hosted or self-hosted, and reachable accordingly`, () => {
    assert.match(facts.summary, /^[A-Z].*\.$|^v?[A-Za-z].*\.$/)
    assert.equal(facts.healthPath === undefined, facts.hosted)
    if (facts.hosted)
      assert.deepEqual([facts.queueGauges, facts.windowQuestions], [undefined, undefined])
    else assert.deepEqual([facts.defaultEndpoint, facts.requires], [undefined, undefined])
  })
}

for (const provider of [...PROVIDERS.values()]) {
  testRequests(provider)
  testAnswers(provider)
  testStreams(provider)
  testErrors(provider)
  testHostility(provider)
  testClients(provider)
}

function testRequests(provider: Provider): void {
  test(`${provider.name}: requests are translated as in request.json`, () => {
    const cases = readCases<RequestCase[]>(provider.name, 'chat/request.json')
    assert.ok(
      cases.some(({ client }) => client === 'canonical'),
      'request.json must translate the canonical request',
    )
    for (const one of cases) {
      const { case: title, client, dialect, maxTokens, path, upstream, leftOut, refused } = one
      const request = aRequest(client === 'canonical' ? CANONICAL : client)
      const encode = () =>
        chatWith(provider).encode(request, settingsOf(provider.name, dialect), maxTokens)
      if (refused === undefined) {
        const encoded = encode()
        assert.deepEqual(JSON.parse(String(encoded.body)), upstream, title)
        if (leftOut !== undefined) assert.deepEqual(encoded.leftOut, leftOut, title)
        if (path !== undefined) assert.equal(encoded.path, path, title)
      } else {
        const isRefusal = (error: unknown) =>
          error instanceof GatewayError &&
          error.code === 'ERR_GW_INVALID_REQUEST' &&
          error.details.param === refused
        assert.throws(encode, isRefusal, title)
      }
    }
  })

  test(`${provider.name}: the credential is in one header and nowhere else`, () => {
    const { path, headers, body } = chatWith(provider).encode(
      aRequest(CANONICAL),
      someSettings(),
      undefined,
    )
    assert.match(path, /^\//)
    assert.equal(path.includes(SECRET) || String(body).includes(SECRET), false)
    const holders = Object.entries(headers).filter(([, value]) => value.includes(SECRET))
    assert.equal(holders.length, 1)
    assert.equal(holders[0]?.[0], provider.credentialHeader ?? 'authorization')
    const settings = someSettings({ credential: '' })
    const bare = chatWith(provider).encode(aRequest(CANONICAL), settings, undefined)
    assert.equal(
      AUTHENTICATION.some((name) => name in bare.headers),
      false,
    )
  })

  test(`${provider.name}: a client chooses neither hosts nor credentials`, () => {
    const request = aRequest({
      api_base: `http://${CANARY}`,
      base_url: `http://${CANARY}`,
      api_key: CANARY,
      extra_headers: { authorization: CANARY },
      organization: CANARY,
    })
    const encoded = chatWith(provider).encode(request, someSettings(), undefined)
    assert.equal(JSON.stringify([encoded.path, encoded.headers]).includes(CANARY), false)
    assert.equal(String(encoded.body).includes(CANARY), false)
    assert.deepEqual(
      Object.keys(encoded.headers).filter((name) => !HEADERS.includes(name)),
      [],
    )
    assert.equal(encoded.headers['content-type'], 'application/json')
  })
}

function testAnswers(provider: Provider): void {
  test(`${provider.name}: answers are read as in answer.json`, () => {
    for (const expected of readCases<AnswerCase[]>(provider.name, 'chat/answer.json')) {
      const { upstream } = expected
      const bytes = Buffer.from(typeof upstream === 'string' ? upstream : JSON.stringify(upstream))
      const answer = chatWith(provider).decode(bytes, aRequest(expected.client))
      if (answer.kind === 'failure') {
        assertHolds(answer.failure, expected.failure, expected.case)
        continue
      }
      assert.deepEqual(answer.usage, usageOf(expected.usage), expected.case)
      if (expected.answer === 'same') assert.equal(answer.body, bytes, expected.case)
      else assert.deepEqual(JSON.parse(String(answer.body)), expected.answer, expected.case)
      assertTypedAnswer(JSON.parse(String(answer.body)), expected.case)
    }
  })

  test(`${provider.name}: the inner form of an answer matches its wire`, () => {
    for (const { upstream, client, case: title } of readCases<AnswerCase[]>(
      provider.name,
      'chat/answer.json',
    )) {
      const bytes = Buffer.from(typeof upstream === 'string' ? upstream : JSON.stringify(upstream))
      const request = aRequest(client)
      const passed = chatWith(provider).decode(bytes, request)
      const decoded = provider.operations.chat!.decode(bytes, request, ORIGIN)
      if (decoded.kind === 'failure' || passed.kind === 'failure') {
        assert.deepEqual(decoded, passed, title)
        continue
      }
      assert.deepEqual(decoded.usage, passed.usage, title)
      const text = openAiChatDialect.writeAnswer(decoded.answer, decoded.usage, request)
      assert.deepEqual(
        saidIn(parse(JSON.stringify(text))),
        saidIn(parse(String(passed.body))),
        title,
      )
    }
  })

  test(`${provider.name}: an invalid answer is a failure, never an exception`, () => {
    for (const body of [
      '',
      'null',
      '[]',
      '"text"',
      '{}',
      '{"choices":[]}',
      '<html>',
      '{"error":1}',
    ]) {
      assert.equal(chatWith(provider).decode(Buffer.from(body), aRequest()).kind, 'failure', body)
    }
  })
}

function testStreams(provider: Provider): void {
  test(`${provider.name}: there is a stream.sse`, () => {
    assert.ok(streamNames(provider.name).includes('stream'))
  })

  for (const stream of streamNames(provider.name)) {
    const expected = readCases<StreamCase>(provider.name, `chat/${stream}.json`)
    const events = readEvents(provider.name, stream)
    for (const asked of [true, false]) {
      const title = `${provider.name}: events of ${stream}.sse, usage ${asked ? '' : 'not '}asked`
      test(title, () => {
        const { meanings, end } = read(provider, events, { ...expected.client, ...asking(asked) })
        const cases = asked ? expected.asked : expected.unasked
        assert.deepEqual(meanings.map(withObjects), cases.map(withFlags))
        const chunks = [...sent(events, meanings), ...chunksIn(end).filter(isChunk).map(parse)]
        assertTypedStream(chunks, expected, asked)
        assert.equal(
          meanings.some(({ done }) => done),
          expected.done,
        )
        // A stream that fails may have the usage of its prompt.
        const { usage } = meanings.findLast((one) => one.usage) ?? {}
        if (!expected.failure) assert.deepEqual(usage, usageOf(expected.usage))
        const failure = meanings.find((meaning) => meaning.failure)?.failure
        if (expected.failure || failure) assertHolds(failure, expected.failure, stream)
      })
    }
    testInner(provider, stream)
  }

  test(`${provider.name}: an event that cannot be read ends the answer, or reaches a client of its wire`, () => {
    const reader = chatStream(provider, aRequest({ stream: true }))
    for (const data of ['{', '{"choices":[{"index":0,"delta":{"con']) {
      const { content, finished, broken, failure } = reader.read({ event: '', data })
      assert.deepEqual([content, finished], [false, false], data)
      assert.ok(failure?.class === 'malformed' || broken, data)
    }
  })

  test(`${provider.name}: an empty event is no content and no exception`, () => {
    const reader = chatStream(provider, aRequest({ stream: true }))
    for (const data of ['', 'null', '[]', '7', '"text"', '{"choices":7}', '{"choices":[null]}']) {
      const { content, finished, done, failure } = reader.read({ event: '', data })
      assert.deepEqual([content, finished, done, failure], [false, false, false, undefined], data)
    }
  })
}

function testHostility(provider: Provider): void {
  test(`${provider.name}: no value of an upstream throws, at any place`, () => {
    const files = ['chat/answer.json', 'errors.json'].flatMap((file) =>
      readCases<{ upstream?: unknown; body?: unknown }[]>(provider.name, file),
    )
    const answers = files.map(({ upstream, body }) => upstream ?? body)
    for (const stream of streamNames(provider.name)) {
      const events = readEvents(provider.name, stream).filter(({ data }) => data !== '[DONE]')
      answers.push(...events.map(({ data }) => JSON.parse(data)))
      for (const value of HOSTILE) {
        const reader = chatStream(provider, aRequest({ stream: true }))
        for (const { event, data } of events) {
          for (const text of variants(JSON.parse(data), value)) {
            assert.equal(typeof reader.read({ event, data: text }).content, 'boolean')
          }
        }
      }
    }
    for (const text of answers.flatMap((one) => HOSTILE.flatMap((value) => variants(one, value)))) {
      assert.match(chatWith(provider).decode(Buffer.from(text), aRequest()).kind, /body|failure/)
      assert.equal(provider.classify(500, {}, Buffer.from(text)).status, 500)
    }
  })
}

function testClients(provider: Provider): void {
  test(`${provider.name}: a value of a client throws at most a refusal`, () => {
    const cases = readCases<RequestCase[]>(provider.name, 'chat/request.json')
    const clients = cases.map(({ client }) => aRequest(client === 'canonical' ? CANONICAL : client))
    for (const value of HOSTILE) {
      for (const text of clients.flatMap(({ body }) => variants(body, value))) {
        if (!isUnderstood(JSON.parse(text))) continue
        try {
          const encoded = chatWith(provider).encode(aRequestOf(text), someSettings(), undefined)
          JSON.parse(String(encoded.body))
        } catch (error) {
          assert.ok(error instanceof GatewayError, `${text}: ${error}`)
        }
      }
    }
  })
}

/** ChatBody promises these, so providers need not check. */
function isUnderstood(body: Chunk): boolean {
  const isCount = (value: unknown) =>
    value === null || value === undefined || typeof value === 'number'
  return (
    typeof body.model === 'string' &&
    Array.isArray(body.messages) &&
    body.messages.every((message: Chunk) => typeof message?.role === 'string') &&
    typeof (body.stream_options ?? {}) === 'object' &&
    [body.max_tokens, body.max_completion_tokens].every(isCount)
  )
}

/** The inner form, from which clients of any other wire are answered. */
function testInner(provider: Provider, stream: string): void {
  test(`${provider.name}: the inner form of ${stream}.sse`, () => {
    const expected = readCases<StreamCase>(provider.name, `chat/${stream}.json`)
    const request = aRequest({ ...expected.client, ...asking(true) })
    const reader = provider.operations.chat?.openStream?.(request, ORIGIN, new KeptText())
    const meanings = readEvents(provider.name, stream).map((event) => reader!.read(event))
    assert.deepEqual(
      meanings.map(({ events }) => events),
      expected.inner,
    )
    const { write, end } = openAiChatDialect.openWriter!(request, new KeptText())
    const usage = meanings.findLast((one) => one.usage)?.usage
    if (!expected.failure) assert.deepEqual(usage, usageOf(expected.usage))
    const isCut = meanings.some(({ failure }) => failure)
    const text = meanings.flatMap(({ events }) => events.map(write)).join('')
    const ending = isCut ? '' : end(usage)
    assertTypedStream(
      chunksIn(text + ending)
        .filter(isChunk)
        .map(parse),
      expected,
      true,
    )
  })
}

function testErrors(provider: Provider): void {
  test(`${provider.name}: errors are classified as in errors.json`, () => {
    const cases = readCases<ErrorCase[]>(provider.name, 'errors.json')
    for (const { case: title, status, headers, body, failure } of cases) {
      const text = typeof body === 'string' ? body : JSON.stringify(body)
      if (status > 0) {
        assertHolds(provider.classify(status, headers ?? {}, Buffer.from(text)), failure, title)
      } else {
        const reader = chatStream(provider, aRequest({ stream: true }))
        const meaning = reader.read({ event: 'error', data: text })
        assertHolds(meaning.failure, failure, title)
        assert.deepEqual([meaning.out, meaning.finished, meaning.done], ['', false, false], title)
      }
    }
  })

  test(`${provider.name}: every form of error body gets a bounded text and a textual code`, () => {
    const bodies = [
      '',
      '<html><head><title>413 Too Large</title></head><body>'.padEnd(100_000, 'x'),
      'plain text',
      '{"error":"Unauthorized"}',
      '{"error":{"message":"m","code":400}}',
      '{"object":"error","message":"m","type":"BadRequestError","param":null,"code":400}',
      '{"detail":"text"}',
      '{"detail":[{"loc":["body","n"],"msg":"too many"}]}',
      '{"message":"Cohere or AWS"}',
      JSON.stringify({ error: { message: 'x'.repeat(5_000) } }),
      '[{"error":{"code":400,"message":"m","status":"INVALID_ARGUMENT"}}]',
    ]
    for (const body of bodies) {
      for (const status of [301, 400, 401, 404, 408, 413, 422, 429, 500, 502, 503, 504, 529]) {
        const failure = provider.classify(status, {}, Buffer.from(body))
        assert.equal(failure.status, status)
        assert.ok(failure.message.length > 0 && failure.message.length <= 65_536, body.slice(0, 50))
        assert.match(typeof failure.code, /string|object/)
        assert.equal(failure.message.includes('<html'), false)
      }
    }
  })

  test(`${provider.name}: the status alone decides if the body says nothing`, () => {
    const expected = { 401: 'credential', 403: 'credential', 404: 'missing', 408: 'timeout' }
    const others = { 413: 'client', 429: 'rate_limited', 500: 'server', 502: 'server' }
    const late = { 503: 'overloaded', 504: 'server', 529: 'overloaded', 302: 'malformed' }
    for (const [status, name] of Object.entries({ ...expected, ...others, ...late })) {
      assert.equal(provider.classify(Number(status), {}, Buffer.alloc(0)).class, name, status)
    }
  })
}

/** Content includes its text, which the events already have. */
function withObjects({ out, said, ...rest }: WireMeaning): object {
  assert.equal(typeof said, rest.content ? 'string' : 'undefined')
  return { ...rest, out: out === 'same' ? out : chunksIn(out).map((text) => JSON.parse(text)) }
}

/** The data of each event in a text. */
function chunksIn(text: string): string[] {
  return text.split('\n\n').flatMap((event) => (event === '' ? [] : [event.replace('data: ', '')]))
}

function withFlags(expected: EventCase): object {
  return { content: false, finished: false, done: false, ...expected }
}

function asking(asked: boolean): Json {
  return { stream: true, ...(asked && { stream_options: { include_usage: true } }) }
}

function read(provider: Provider, events: readonly WireEvent[], client: Json) {
  const reader = chatStream(provider, aRequest(client))
  const meanings = events.map((event) => reader.read(event))
  const isShown = meanings.some(({ out, done }) => done && out === 'same')
  const isCut = meanings.some(({ failure }) => failure)
  const usage = meanings.findLast((one) => one.usage)?.usage
  return { meanings, end: isShown || isCut ? '' : reader.end(usage) }
}

function isChunk(data: string): boolean {
  return data !== '[DONE]'
}

function parse(json: string): Chunk {
  return JSON.parse(json)
}

/** The chunks a client gets, up to a failure. */
function sent(events: readonly WireEvent[], meanings: readonly WireMeaning[]): Chunk[] {
  const failing = meanings.findIndex(({ failure }) => failure)
  const passing = failing === -1 ? meanings : meanings.slice(0, failing)
  const texts = passing.flatMap(({ out }, index) =>
    out === 'same' ? [events[index]!.data] : chunksIn(out),
  )
  return texts.filter(isChunk).map(parse)
}

/** An answer without the parts that only its own wire has. */
function saidIn({ id, model, choices }: Chunk): object {
  const said = choices.map(({ message, finish_reason: finish }: Chunk) => {
    const { content, refusal, reasoning_content: reasoning, tool_calls: calls } = message
    const called = (calls ?? []).map(({ id, function: { name, arguments: text } }: Chunk) => [
      id,
      name,
      text,
    ])
    return {
      text: content ?? '',
      refusal: refusal ?? null,
      reasoning: reasoning ?? '',
      called,
      finish,
    }
  })
  return { id, model, said }
}

function assertTypedAnswer(answer: Chunk, title: string): void {
  assert.ok(typeof answer.id === 'string' && answer.id !== '', title)
  for (const { message, finish_reason: reason } of answer.choices) {
    assert.ok(FINISH_REASONS.includes(reason), title)
    assert.notEqual(message.tool_calls?.length, 0, title)
    for (const call of message.tool_calls ?? []) assert.ok(call.id && call.function.name, title)
  }
}

function assertTypedStream(chunks: readonly Chunk[], expected: StreamCase, asked: boolean): void {
  const deltas = chunks.flatMap(({ choices }) => choices).map(({ delta }) => delta)
  const reasons = chunks.flatMap(({ choices }) => choices).map((choice) => choice.finish_reason)
  assert.equal(deltas.map(({ content }) => content ?? '').join(''), expected.text)
  assert.deepEqual(toolsOf(deltas), expected.tools ?? [])
  assert.deepEqual(reasons.filter(Boolean), expected.finish === null ? [] : [expected.finish])
  for (const name of ['id', 'created', 'model']) {
    assert.equal(new Set(chunks.map((chunk) => chunk[name])).size, 1, `${name} must not change`)
  }
  assert.ok(chunks[0].id)
  const counted = chunks.filter(({ usage }) => usage)
  if (!asked)
    assert.equal(
      chunks.some((chunk) => 'usage' in chunk),
      false,
    )
  else if (expected.usage) {
    assert.deepEqual(counted, [chunks.at(-1)])
    assert.deepEqual(chunks.at(-1).choices, [])
  }
}

/**
 * Puts tool calls together like a client: dense indices, and id, type and name in the first delta
 * only.
 */
function toolsOf(deltas: readonly Chunk[]): Json[] {
  const tools: { name: string; arguments: string }[] = []
  for (const call of deltas.flatMap((delta) => delta.tool_calls ?? [])) {
    const tool = tools[call.index]
    if (tool !== undefined) {
      assert.equal(call.id ?? call.type ?? call.function.name, undefined)
      tool.arguments += call.function.arguments
      continue
    }
    assert.equal(call.index, tools.length)
    assert.ok(call.id)
    assert.equal(call.type, 'function')
    tools.push({ name: call.function.name, arguments: call.function.arguments })
  }
  return tools
}
