/**
 * The requirements of every provider with embeddings; a new one is tested as soon as its registry entry has the
 * operation.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GatewayError } from '../../dataplane/base/errors.ts'
import type { Json } from '../../dataplane/json/values.ts'
import { fromBase64 } from '../../dataplane/json/vectors.ts'
import { PROVIDERS } from '../../dataplane/providers/index.ts'
import type { Provider } from '../../dataplane/wire/provider.ts'
import {
  anEmbeddingsRequest,
  embeddingsWith,
  ORIGIN,
  settingsOf,
  someSettings,
} from '../helpers/providers/a-request.ts'
import {
  type EmbeddingsCase,
  type RequestCase,
  readCases,
} from '../helpers/providers/provider-fixtures.ts'
import {
  assertHolds,
  assertTrusted,
  CANARY,
  HOSTILE,
  usageOf,
  variants,
} from '../helpers/providers/verdicts.ts'

// biome-ignore lint/suspicious/noExplicitAny: read like a client without types reads.
type Answer = any

for (const provider of PROVIDERS.values()) {
  if (provider.operations.embeddings === undefined) continue
  testRequests(provider)
  testAnswers(provider)
  testHostility(provider)
}

function testRequests(provider: Provider): void {
  const { name } = provider

  test(`${name}: requests for embeddings are translated as in request.json`, () => {
    for (const one of readCases<RequestCase[]>(name, 'embeddings/request.json')) {
      const { case: title, client, dialect, path, upstream, refused } = one
      assert.notEqual(client, 'canonical')
      const request = anEmbeddingsRequest(client as Json)
      const encode = () =>
        embeddingsWith(provider).encode(request, settingsOf(provider.name, dialect), undefined)
      if (refused === undefined) {
        const encoded = encode()
        assert.deepEqual(JSON.parse(String(encoded.body)), upstream, title)
        if (path !== undefined) assert.equal(encoded.path, path, title)
      } else assert.throws(encode, isRefusalOf(refused, name), title)
    }
  })

  test(`${name}: token numbers arrive unchanged, or are refused by name`, () => {
    for (const input of [
      [1, 2, 3],
      [[1, 2], [3]],
    ]) {
      const request = anEmbeddingsRequest({ input })
      try {
        const { body } = embeddingsWith(provider).encode(request, someSettings(), undefined)
        assert.deepEqual(JSON.parse(String(body)).input, input)
      } catch (error) {
        assert.ok(isRefusalOf('input', name)(error), String(error))
      }
    }
  })

  test(`${name}: a request for embeddings carries our credential in one header and nothing of the client's`, () => {
    const request = anEmbeddingsRequest({
      api_base: `http://${CANARY}`,
      base_url: `http://${CANARY}`,
      api_key: CANARY,
      extra_headers: { authorization: CANARY },
      organization: CANARY,
    })
    const { encode } = embeddingsWith(provider)
    assertTrusted(provider, (settings) => encode(request, settings, undefined))
  })
}

function testAnswers(provider: Provider): void {
  const { name } = provider
  const cases = () => readCases<EmbeddingsCase[]>(name, 'embeddings/answer.json')

  test(`${name}: answers with embeddings are read as in answer.json`, () => {
    for (const { case: title, client, upstream, ...expected } of cases()) {
      const bytes = bytesOf(upstream)
      const request = anEmbeddingsRequest(client)
      const passed = embeddingsWith(provider).decode(bytes, request)
      const decoded = provider.operations.embeddings!.decode(bytes, request, ORIGIN)
      if (passed.kind === 'failure' || decoded.kind === 'failure') {
        assert.deepEqual(decoded, passed, title)
        if (passed.kind === 'failure') assertHolds(passed.failure, expected.failure, title)
        continue
      }
      assert.deepEqual([passed.usage, decoded.usage], Array(2).fill(usageOf(expected.usage)), title)
      if (expected.answer === 'same') assert.equal(passed.body, bytes, title)
      else assert.deepEqual(JSON.parse(String(passed.body)), expected.answer, title)
      const { model, vectors } = decoded.answer
      const inner = { model, vectors: vectors.map((vector) => Array.from(vector)) }
      assert.deepEqual(inner, expected.inner, title)
    }
    assert.ok(
      cases().some(({ inner }) => (inner?.vectors.length ?? 0) > 1),
      'answer.json must have several vectors',
    )
  })

  test(`${name}: a client gets vectors in the requested form, regardless of the upstream's form`, () => {
    for (const { case: title, client, upstream, inner } of cases()) {
      if (inner === undefined) continue
      for (const format of ['float', 'base64', undefined]) {
        const request = anEmbeddingsRequest({ ...client, encoding_format: format })
        const passed = embeddingsWith(provider).decode(bytesOf(upstream), request)
        assert.equal(passed.kind, 'body')
        const answer = JSON.parse(passed.kind === 'body' ? String(passed.body) : '')
        assert.deepEqual(vectorsIn(answer, format), inner.vectors.map(asFloats), title)
        assertTyped(answer)
      }
    }
  })

  test(`${name}: missing vectors, or vectors of another length than requested, are a failure`, () => {
    for (const { client, upstream, inner } of cases()) {
      if (inner === undefined) continue
      const decode = (members: Json) =>
        embeddingsWith(provider).decode(bytesOf(upstream), anEmbeddingsRequest(members)).kind
      const input = Array(inner.vectors.length + 1).fill('x')
      assert.equal(decode({ ...client, input }), 'failure')
      const dimensions = (inner.vectors[0]?.length ?? 0) + 1
      assert.equal(decode({ ...client, dimensions }), 'failure')
    }
  })

  test(`${name}: a body without embeddings is a failure, never an exception`, () => {
    for (const text of ['', 'null', '[]', '"text"', '{}', '{"data":[]}', '<html>', '{"error":1}']) {
      const request = anEmbeddingsRequest()
      assert.equal(
        embeddingsWith(provider).decode(Buffer.from(text), request).kind,
        'failure',
        text,
      )
    }
  })
}

function testHostility(provider: Provider): void {
  test(`${provider.name}: no value in embeddings throws, at any place`, () => {
    for (const { client, upstream } of readCases<EmbeddingsCase[]>(
      provider.name,
      'embeddings/answer.json',
    )) {
      const request = anEmbeddingsRequest(client)
      for (const text of HOSTILE.flatMap((value) => variants(upstream, value))) {
        const { kind } = embeddingsWith(provider).decode(Buffer.from(text), request)
        assert.match(kind, /^(body|failure)$/)
        const decoded = provider.operations.embeddings!.decode(Buffer.from(text), request, ORIGIN)
        assert.match(decoded.kind, /^(answer|failure)$/)
      }
    }
  })

  test(`${provider.name}: a value of a client of embeddings throws at most a refusal`, () => {
    const cases = readCases<RequestCase[]>(provider.name, 'embeddings/request.json')
    for (const client of cases.map(({ client }) => client)) {
      for (const text of HOSTILE.flatMap((value) => variants(client, value))) {
        try {
          const request = anEmbeddingsRequest(JSON.parse(text))
          const { body } = embeddingsWith(provider).encode(request, someSettings(), undefined)
          JSON.parse(String(body))
        } catch (error) {
          assert.ok(error instanceof GatewayError, `${text}: ${error}`)
        }
      }
    }
  })
}

/** A client's mistake that names the member, and the provider that cannot do it. */
function isRefusalOf(param: string, provider: string) {
  return (error: unknown) =>
    error instanceof GatewayError &&
    error.code === 'ERR_GW_INVALID_REQUEST' &&
    error.details.param === param &&
    error.message.includes(provider)
}

function bytesOf(upstream: unknown): Buffer {
  return Buffer.from(typeof upstream === 'string' ? upstream : JSON.stringify(upstream))
}

function vectorsIn(answer: Answer, format: string | undefined): number[][] {
  return answer.data.map(({ embedding }: Answer) => {
    if (format !== 'base64') return asFloats(embedding)
    assert.equal(typeof embedding, 'string')
    return Array.from(fromBase64(embedding)!)
  })
}

/** As 32 bits hold them. */
function asFloats(numbers: readonly number[]): number[] {
  assert.ok(Array.isArray(numbers))
  return Array.from(Float32Array.from(numbers))
}

function assertTyped({ object, data, model, usage }: Answer): void {
  assert.equal(object, 'list')
  assert.equal(typeof model, 'string')
  assert.deepEqual(
    data.map(({ index }: Answer) => index),
    data.map((_: unknown, place: number) => place),
  )
  for (const one of data) assert.equal(one.object, 'embedding')
  assert.ok(Number.isInteger(usage.prompt_tokens) && Number.isInteger(usage.total_tokens))
}
