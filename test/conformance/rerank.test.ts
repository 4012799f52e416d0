/**
 * The requirements of every provider with rerank; a new one is tested as soon as its registry entry has the operation.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GatewayError } from '../../dataplane/base/errors.ts'
import type { Json } from '../../dataplane/json/values.ts'
import { PROVIDERS } from '../../dataplane/providers/index.ts'
import type { Provider } from '../../dataplane/wire/provider.ts'
import { aRerankRequest, ORIGIN, rerankWith, someSettings } from '../helpers/providers/a-request.ts'
import {
  type RequestCase,
  type RerankCase,
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

for (const provider of PROVIDERS.values()) {
  if (provider.operations.rerank === undefined) continue
  testRequests(provider)
  testAnswers(provider)
  testHostility(provider)
}

function testRequests(provider: Provider): void {
  const { name } = provider

  test(`${name}: requests for rerank are translated as in request.json`, () => {
    for (const { case: title, client, ...expected } of requestsOf(name)) {
      const { encode } = rerankWith(provider)
      const encoded = encode(aRerankRequest(client as Json), someSettings(), undefined)
      assert.deepEqual(JSON.parse(String(encoded.body)), expected.upstream, title)
      if (expected.path !== undefined) assert.equal(encoded.path, expected.path, title)
      if (expected.leftOut !== undefined) assert.deepEqual(encoded.leftOut, expected.leftOut, title)
    }
  })

  test(`${name}: a request for rerank carries our credential in one header and nothing of the client's`, () => {
    const request = aRerankRequest({
      api_base: CANARY,
      api_key: CANARY,
      extra_headers: { a: CANARY },
    })
    const { encode } = rerankWith(provider)
    assertTrusted(provider, (settings) => encode(request, settings, undefined))
  })
}

function testAnswers(provider: Provider): void {
  const { name } = provider

  test(`${name}: answers of rerank are read as in answer.json`, () => {
    for (const { case: title, client, upstream, ...expected } of answersOf(name)) {
      const request = aRerankRequest(client)
      const bytes = Buffer.from(JSON.stringify(upstream))
      const passed = rerankWith(provider).decode(bytes, request)
      const decoded = provider.operations.rerank!.decode(bytes, request, ORIGIN)
      if (passed.kind === 'failure' || decoded.kind === 'failure') {
        assert.deepEqual(decoded, passed, title)
        if (passed.kind === 'failure') assertHolds(passed.failure, expected.failure, title)
        continue
      }
      assert.deepEqual([passed.usage, decoded.usage], Array(2).fill(usageOf(expected.usage)), title)
      assert.deepEqual(JSON.parse(String(passed.body)), expected.answer, title)
      assert.deepEqual(JSON.parse(JSON.stringify(decoded.answer)), expected.inner, title)
    }
  })

  test(`${name}: results that are missing, repeated or without a score are a failure`, () => {
    const scored = (index: unknown) => ({ index, relevance_score: 0.5 })
    const wrong: readonly (readonly unknown[])[] = [
      [],
      [scored(0), scored(1)],
      [scored(0), scored(1), scored(1)],
      [scored(0), scored(1), scored(3)],
      [scored(0), scored(1), scored(-1)],
      [scored(0), scored(1), scored('2')],
      [scored(0), scored(1), { index: 2 }],
      [scored(0), scored(1), { index: 2, relevance_score: 'high' }],
      [scored(0), scored(1), scored(2), scored(2)],
    ]
    for (const results of wrong) {
      const text = JSON.stringify({ results })
      assert.equal(
        rerankWith(provider).decode(Buffer.from(text), aRerankRequest()).kind,
        'failure',
        text,
      )
    }
  })

  test(`${name}: an answer without a ranking is a failure, never an exception`, () => {
    for (const text of [
      '',
      'null',
      '[]',
      '"text"',
      '{}',
      '{"results":[]}',
      '<html>',
      '{"error":1}',
    ]) {
      const { kind } = rerankWith(provider).decode(Buffer.from(text), aRerankRequest())
      assert.equal(kind, 'failure', text)
    }
  })
}

function testHostility(provider: Provider): void {
  test(`${provider.name}: no value of rerank throws, at any place`, () => {
    for (const { client, upstream } of answersOf(provider.name)) {
      for (const text of HOSTILE.flatMap((value) => variants(upstream, value)))
        rerankWith(provider).decode(Buffer.from(text), aRerankRequest(client))
    }
    for (const { client } of requestsOf(provider.name)) {
      for (const text of HOSTILE.flatMap((value) => variants(client, value))) {
        try {
          const { encode } = rerankWith(provider)
          JSON.parse(
            String(encode(aRerankRequest(JSON.parse(text)), someSettings(), undefined).body),
          )
        } catch (error) {
          assert.ok(error instanceof GatewayError, `${text}: ${error}`)
        }
      }
    }
  })
}

function requestsOf(name: string): RequestCase[] {
  return readCases<RequestCase[]>(name, 'rerank/request.json')
}

function answersOf(name: string): RerankCase[] {
  return readCases<RerankCase[]>(name, 'rerank/answer.json')
}
