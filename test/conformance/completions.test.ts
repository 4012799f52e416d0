/**
 * The requirements of every provider with legacy completions; a new one is tested as soon as its entry has the
 * operation.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openAiCompletionsDialect } from '../../dataplane/apis/openai-completions/dialect.ts'
import { GatewayError } from '../../dataplane/base/errors.ts'
import { KeptText } from '../../dataplane/base/kept-text.ts'
import type { Json } from '../../dataplane/json/values.ts'
import { PROVIDERS } from '../../dataplane/providers/index.ts'
import type { Provider, WireMeaning } from '../../dataplane/wire/provider.ts'
import {
  aCompletionsRequest,
  completionsWith,
  ORIGIN,
  settingsOf,
  someSettings,
} from '../helpers/providers/a-request.ts'
import {
  type CompletionsCase,
  type CompletionsStream,
  type RequestCase,
  readCases,
  readEvents,
  streamNames,
} from '../helpers/providers/provider-fixtures.ts'
import { assertHolds, HOSTILE, usageOf, variants } from '../helpers/providers/verdicts.ts'

// biome-ignore lint/suspicious/noExplicitAny: read like a client without types reads.
type Chunk = any

const SECRET = someSettings().credential

for (const provider of PROVIDERS.values()) {
  if (provider.operations.completions === undefined) continue
  testRequests(provider)
  testAnswers(provider)
  for (const stream of streamNames(provider.name, 'completions')) testStream(provider, stream)
  testHostility(provider)
}

function testRequests(provider: Provider): void {
  const { name } = provider

  test(`${name}: requests for completions are translated as in request.json`, () => {
    const cases = readCases<RequestCase[]>(name, 'completions/request.json')
    for (const { case: title, client, dialect, path, maxTokens, upstream, refused } of cases) {
      const request = aCompletionsRequest(client as Json)
      const encode = () =>
        completionsWith(provider).encode(request, settingsOf(provider.name, dialect), maxTokens)
      if (refused !== undefined) {
        const isRefusal = (error: unknown) =>
          error instanceof GatewayError &&
          error.code === 'ERR_GW_INVALID_REQUEST' &&
          error.details.param === refused &&
          error.message.includes(name)
        assert.throws(encode, isRefusal, title)
        continue
      }
      const encoded = encode()
      assert.deepEqual(JSON.parse(String(encoded.body)), upstream, title)
      if (path !== undefined) assert.equal(encoded.path, path, title)
      const holders = Object.keys(encoded.headers).filter((header) =>
        encoded.headers[header]?.includes(SECRET),
      )
      assert.deepEqual(holders, [provider.credentialHeader ?? 'authorization'])
    }
  })
}

function testAnswers(provider: Provider): void {
  const { name } = provider

  test(`${name}: completions are read as in answer.json`, () => {
    for (const one of readCases<CompletionsCase[]>(name, 'completions/answer.json')) {
      const { case: title, client, upstream, ...expected } = one
      const bytes = Buffer.from(typeof upstream === 'string' ? upstream : JSON.stringify(upstream))
      const request = aCompletionsRequest(client)
      const passed = completionsWith(provider).decode(bytes, request)
      const decoded = provider.operations.completions!.decode(bytes, request, ORIGIN)
      if (passed.kind === 'failure' || decoded.kind === 'failure') {
        assert.deepEqual(decoded, passed, title)
        if (passed.kind === 'failure') assertHolds(passed.failure, expected.failure, title)
        continue
      }
      assert.deepEqual([passed.usage, decoded.usage], Array(2).fill(usageOf(expected.usage)), title)
      if (expected.answer === 'same') assert.equal(passed.body, bytes, title)
      else assert.deepEqual(JSON.parse(String(passed.body)), expected.answer, title)
      assert.deepEqual(decoded.answer, expected.inner, title)
      const written = openAiCompletionsDialect.writeAnswer(decoded.answer, decoded.usage, request)
      assert.deepEqual(
        saidIn(JSON.parse(JSON.stringify(written))),
        saidIn(JSON.parse(String(passed.body))),
        title,
      )
    }
  })

  test(`${name}: a body without a completion is a failure, never an exception`, () => {
    for (const text of [
      '',
      'null',
      '[]',
      '7',
      '{}',
      '{"choices":[]}',
      '{"choices":[{}]}',
      '<html>',
    ]) {
      const { kind } = completionsWith(provider).decode(Buffer.from(text), aCompletionsRequest())
      assert.equal(kind, 'failure', text)
    }
  })
}

function testStream(provider: Provider, stream: string): void {
  const { name } = provider
  for (const asked of [true, false]) {
    test(`${name}: completions of ${stream}.sse, usage ${asked ? '' : 'not '}asked`, () => {
      const expected = readCases<CompletionsStream>(name, `completions/${stream}.json`)
      const options = asked && { stream_options: { include_usage: true } }
      const request = aCompletionsRequest({ stream: true, ...expected.client, ...options })
      const reader = completionsWith(provider).openStream(request)!
      const events = readEvents(name, stream, 'completions')
      const meanings = events.map((event) => reader.read(event))
      const usage = meanings.findLast((one) => one.usage)?.usage
      assert.deepEqual(usage, usageOf(expected.usage))
      const passes = provider.operations.completions!.sameWire !== undefined
      const rest = passes || expected.failure !== undefined ? '' : reader.end(usage)
      assertStream(textOf(events, meanings) + rest, expected, asked)
      assertFailure(meanings, expected)

      const inner = provider.operations.completions!.openStream!(request, ORIGIN, new KeptText())
      const writer = openAiCompletionsDialect.openWriter!(request, new KeptText())
      const read = events.map((event) => inner.read(event))
      const failed = read.findIndex(({ failure }) => failure)
      const written = read.slice(0, failed === -1 ? read.length : failed)
      const text = written.flatMap((one) => one.events.map(writer.write)).join('')
      assertStream(failed === -1 ? text + writer.end(usage) : text, expected, asked)
    })
  }
}

function assertFailure(meanings: readonly WireMeaning[], { failure, finish }: CompletionsStream) {
  const found = meanings.find((one) => one.failure)?.failure
  if (failure || found) assertHolds(found, failure, 'the failure')
  const isFinished = meanings.some((one) => one.finished)
  assert.equal(
    isFinished,
    finish.every((reason) => reason !== null),
  )
}

/** The events that the client reads, up to a failure. */
function textOf(events: readonly { data: string }[], meanings: readonly WireMeaning[]): string {
  const failed = meanings.findIndex(({ failure }) => failure)
  const read = failed === -1 ? meanings : meanings.slice(0, failed)
  return read
    .map(({ out }, index) => (out === 'same' ? `data: ${events[index]!.data}\n\n` : out))
    .join('')
}

function assertStream(text: string, expected: CompletionsStream, asked: boolean): void {
  const data = text
    .split('\n\n')
    .filter(Boolean)
    .map((one) => one.replace(/^data: /, ''))
  assert.equal(data.at(-1) === '[DONE]', expected.failure === undefined)
  const chunks: Chunk[] = data.filter((one) => one !== '[DONE]').map((one) => JSON.parse(one))
  const texts = expected.texts.map(() => '')
  const finish: (string | null)[] = expected.texts.map(() => null)
  for (const chunk of chunks) {
    assert.equal(chunk.object, 'text_completion')
    for (const choice of chunk.choices) {
      texts[choice.index] += choice.text
      finish[choice.index] ??= choice.finish_reason
    }
  }
  assert.deepEqual([texts, finish], [expected.texts, expected.finish])
  const counted = chunks.filter(({ usage }) => usage)
  if (!asked)
    assert.equal(
      chunks.some((chunk) => 'usage' in chunk),
      false,
    )
  else if (expected.failure === undefined) {
    assert.deepEqual([counted.length, counted[0]], [1, chunks.at(-1)])
    assert.deepEqual(counted[0].choices, [])
    assert.equal(counted[0].usage.completion_tokens, expected.usage?.completionTokens)
    assert.equal(counted[0].usage.prompt_tokens, expected.usage?.promptTokens)
  }
}

function testHostility(provider: Provider): void {
  const { name } = provider
  const wire = () => completionsWith(provider)

  test(`${name}: no value in a completion throws, at any place`, () => {
    for (const { client, upstream } of readCases<CompletionsCase[]>(
      name,
      'completions/answer.json',
    )) {
      const request = aCompletionsRequest(client)
      for (const text of HOSTILE.flatMap((value) => variants(upstream, value))) {
        assert.match(wire().decode(Buffer.from(text), request).kind, /^(body|failure)$/)
      }
    }
    for (const stream of streamNames(name, 'completions')) {
      const { client } = readCases<CompletionsStream>(name, `completions/${stream}.json`)
      const events = readEvents(name, stream, 'completions').filter(({ data }) => data !== '[DONE]')
      for (const value of HOSTILE) {
        const request = aCompletionsRequest({ stream: true, ...client })
        const reader = wire().openStream(request)!
        const inner = provider.operations.completions!.openStream!(request, ORIGIN, new KeptText())
        for (const { event, data } of events) {
          for (const text of variants(JSON.parse(data), value)) {
            assert.equal(typeof reader.read({ event, data: text }).content, 'boolean')
            assert.ok(Array.isArray(inner.read({ event, data: text }).events))
          }
        }
      }
    }
  })

  test(`${name}: a value of a client of completions throws at most a refusal`, () => {
    const cases = readCases<RequestCase[]>(name, 'completions/request.json')
    for (const { client } of cases) {
      for (const text of HOSTILE.flatMap((value) => variants(client, value))) {
        try {
          const request = aCompletionsRequest(JSON.parse(text))
          JSON.parse(String(wire().encode(request, someSettings(), undefined).body))
        } catch (error) {
          assert.ok(error instanceof GatewayError, `${text}: ${error}`)
        }
      }
    }
  })
}

function saidIn({ id, model, choices }: Chunk): object {
  const said = choices.map(({ text, index, finish_reason: finish }: Chunk) => ({
    text,
    index,
    finish,
  }))
  return { id, model, said }
}
