/** Requests are encoded and written for an upstream: short ones at once, long ones in turns, with the same bytes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { anthropicMessagesDialect } from '../../../dataplane/apis/anthropic-messages/dialect.ts'
import { openAiChatDialect } from '../../../dataplane/apis/openai-chat/dialect.ts'
import { openAiEmbeddingsDialect } from '../../../dataplane/apis/openai-embeddings/dialect.ts'
import { openAiResponsesDialect } from '../../../dataplane/apis/openai-responses/dialect.ts'
import { parseRequest } from '../../../dataplane/body/request.ts'
import { PROVIDERS } from '../../../dataplane/providers/index.ts'
import { pairOf } from '../../../dataplane/translation/pair.ts'
import type { Encoded } from '../../../dataplane/upstream/encoding/pool-request.ts'
import { writtenOut } from '../../../dataplane/upstream/encoding/written-out.ts'
import type { Dialect } from '../../../dataplane/wire/dialect.ts'
import { Unsupported } from '../../../dataplane/wire/unsupported.ts'
import { bytesOf, someSettings } from '../../helpers/providers/a-request.ts'

const LONG = 'say "é"\n\u{1f600} '.repeat(10_000)
const messages = [{ role: 'user', content: LONG }]

const ASKED: readonly (readonly [Dialect, object])[] = [
  [openAiChatDialect, { messages, user: 'u', metadata: {}, tools: [] }],
  [openAiChatDialect, { messages: [{ role: 'developer', content: LONG }, ...messages] }],
  [anthropicMessagesDialect, { messages, max_tokens: 9 }],
  [openAiResponsesDialect, { input: LONG }],
  [openAiEmbeddingsDialect, { input: LONG }],
]

for (const [dialect, members] of ASKED)
  test(`${dialect.wire}: a long body has its own turns, and the same JSON as a short one`, async (t) => {
    const asked = (text: string) =>
      parseRequest(
        Buffer.from(JSON.stringify({ model: 'chat', ...members }).replaceAll(LONG_JSON, text)),
        dialect.reading,
        0,
      )
    const requests = { short: asked('short'), long: asked(LONG_JSON) }
    for (const provider of PROVIDERS.values()) {
      const pair = pairOf(dialect, provider)
      if (pair === undefined) continue
      for (const rewritten of [{}, { isRewritten: true, wire: 'rewritten' }]) {
        let count = 0
        const write = (which: 'short' | 'long') => {
          const request = { ...requests[which], ...rewritten }
          return writtenOut(request, (): Encoded => {
            count++
            const upstream = pair.encode(request, someSettings(), 10)
            return { request, upstream, dropped: undefined, pair }
          })
        }
        const short = write('short')
        assert.ok(!(short instanceof Promise), provider.name)
        const stringify = t.mock.method(JSON, 'stringify')
        const writing = write('long')
        assert.equal(count, 1, 'the long one waits for its turn')
        const long = await writing
        const lengths = stringify.mock.calls.map(({ result }) => String(result).length)
        stringify.mock.restore()
        assert.ok(Math.max(0, ...lengths) < 2 * 65_536, `${provider.name}: ${Math.max(...lengths)}`)
        assert.deepEqual(JSON.parse(jsonOf(long).replaceAll(LONG_JSON, 'short')), read(short))
      }
    }
  })

const LONG_JSON = JSON.stringify(LONG).slice(1, -1)

function jsonOf(encoded: Encoded | undefined): string {
  const { body, rest = [] } = encoded?.upstream ?? assert.fail()
  return Buffer.concat([bytesOf(body), ...rest]).toString()
}

function read(encoded: Encoded | undefined): unknown {
  return JSON.parse(jsonOf(encoded))
}

test('a refusal of an unsupported member is thrown for a long request, too', async () => {
  const bytes = Buffer.from(JSON.stringify({ model: 'chat', messages }))
  const request = parseRequest(bytes, openAiChatDialect.reading, 0)
  const refusing = () => {
    throw new Unsupported('no', ['messages'])
  }
  await assert.rejects(async () => await writtenOut(request, refusing), Unsupported)
  assert.equal(await writtenOut(request, () => undefined), undefined)
})
