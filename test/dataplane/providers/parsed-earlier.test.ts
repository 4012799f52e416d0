/** An answer of megabytes that was parsed in steps is not parsed again when it is read. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openAiResponsesDialect } from '../../../dataplane/apis/openai-responses/dialect.ts'
import { parseRequest } from '../../../dataplane/body/request.ts'
import { keepParsed } from '../../../dataplane/json/values.ts'
import { PROVIDERS } from '../../../dataplane/providers/index.ts'
import type { ModelRequest } from '../../../dataplane/wire/inner-form.ts'
import {
  aCompletionsRequest,
  anEmbeddingsRequest,
  aRequest,
  aRerankRequest,
  ORIGIN,
} from '../../helpers/providers/a-request.ts'

const REQUESTS: Readonly<Record<string, () => ModelRequest>> = {
  chat: aRequest,
  completions: aCompletionsRequest,
  embeddings: anEmbeddingsRequest,
  rerank: aRerankRequest,
}
const ANSWER = { text: 'x'.repeat(100_000) }

interface Reads {
  decode(body: Buffer, request: ModelRequest, origin: typeof ORIGIN): unknown
}

for (const [name, { operations }] of PROVIDERS)
  for (const [operation, made] of Object.entries(REQUESTS)) {
    const reads = (operations as Readonly<Record<string, Reads | undefined>>)[operation]
    if (reads === undefined) continue
    test(`${name} reads an answer once: ${operation}`, (t) => {
      const bytes = Buffer.from(JSON.stringify(ANSWER))
      const request = made()
      keepParsed(bytes, ANSWER)
      const parse = t.mock.method(JSON, 'parse')
      reads.decode(bytes, request, ORIGIN)
      const lengths = parse.mock.calls.map(({ arguments: [text] }) => String(text).length)
      assert.deepEqual(
        lengths.filter((length) => length > 10_000),
        [],
      )
    })
  }

test('a response that passes is read once, even if the client knows it by an id of the gateway', (t) => {
  const asked = Buffer.from('{"model":"m","input":"hi","store":true}')
  const request = parseRequest(asked, openAiResponsesDialect.reading, 0)
  const answer = { id: 'resp_1', object: 'response', output: [], text: 'x'.repeat(100_000) }
  const bytes = Buffer.from(JSON.stringify(answer))
  keepParsed(bytes, answer)
  const parse = t.mock.method(JSON, 'parse')
  const passed = openAiResponsesDialect.passing?.answer(bytes, request)
  assert.equal(parse.mock.callCount(), 0)
  assert.ok(Number(passed?.length) > 100_000)
})
