/** Arguments of a tool call of megabytes are parsed in short steps, with the same result as one parse. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { anthropicMessagesDialect } from '../../../dataplane/apis/anthropic-messages/dialect.ts'
import { PIECE_BYTES } from '../../../dataplane/json/members.ts'
import { keepParsed, parsedArguments } from '../../../dataplane/json/values.ts'
import { PROVIDERS } from '../../../dataplane/providers/index.ts'
import { pairOf } from '../../../dataplane/translation/pair.ts'
import {
  aRequest,
  bytesOf,
  chatWith,
  ORIGIN,
  someSettings,
} from '../../helpers/providers/a-request.ts'

/** Four parts of a long string, in quotes. */
const PARSED_AT_ONCE_MAX = 4 * PIECE_BYTES + 2
const LONG = 2_000_000

const ARGUMENTS: Readonly<Record<string, string>> = {
  'a text': JSON.stringify({ file: 'line "1"\n'.repeat(LONG / 9) }),
  numbers: `{"all":[${'0.50,'.repeat(30_000)}1e400],"one":1.0}`,
  'escaped names': `{"conten\\u0074":"${'x'.repeat(LONG)}","__proto__":{"a\\"b":-0}}`,
  'white space around': ` \n{"text":"${'x'.repeat(LONG)}"}\n `,
  'no object': `["${'x'.repeat(LONG)}"]`,
  'half of an object': `{"text":"${'x'.repeat(LONG)}`,
  'deeper than is read': `{"text":"${'x'.repeat(LONG)}","deep":${'['.repeat(70)}${']'.repeat(70)}}`,
}

/** Where providers whose APIs take arguments as an object put them. */
const PLACES: Readonly<Record<string, (body: string) => string>> = {
  anthropic: between('"input":', '}]}]'),
  bedrock: between('"input":', '}}]}]'),
  gemini: between('"args":', '},"thoughtSignature"'),
  ollama: between('"arguments":', '}}]}]'),
}

function between(before: string, after: string): (body: string) => string {
  return (body) => {
    const start = body.indexOf(before) + before.length
    return body.slice(start, body.indexOf(after, start))
  }
}

/** The most characters that the parser gets at once meanwhile. */
async function mostParsed(t: TestContext, work: () => void | Promise<void>): Promise<number> {
  const parse = t.mock.method(JSON, 'parse')
  await work()
  parse.mock.restore()
  return Math.max(...parse.mock.calls.map(({ arguments: [one] }) => String(one).length))
}

for (const [name, placed] of Object.entries(PLACES)) {
  const provider = PROVIDERS.get(name)
  assert.ok(provider, name)
  for (const [what, text] of Object.entries(ARGUMENTS)) {
    test(`a call with arguments of megabytes is written for ${name} in short steps: ${what}`, async (t) => {
      const call = { id: 'c', type: 'function', function: { name: 'f', arguments: text } }
      const messages = [
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: null, tool_calls: [call] },
      ]
      const request = aRequest({ messages })
      let body = ''
      const most = await mostParsed(t, () => {
        const encoded = chatWith(provider).encode(request, someSettings({ region: 'r' }), 100)
        body = String(bytesOf(encoded.body))
      })
      assert.ok(most <= PARSED_AT_ONCE_MAX, `${most} characters at once`)
      // Compared as texts: a difference of megabytes takes minutes to show.
      assert.ok(placed(body) === JSON.stringify(parsedArguments(text)), body.slice(-400))
    })
  }
}

test('an answer with arguments of megabytes is written for a client of Messages in short steps', async (t) => {
  const text = ARGUMENTS['a text'] as string
  const call = { id: 'c', type: 'function', function: { name: 'f', arguments: text } }
  const message = { role: 'assistant', content: null, tool_calls: [call] }
  const answer = { id: 'a', choices: [{ index: 0, message, finish_reason: 'tool_calls' }] }
  const bytes = Buffer.from(JSON.stringify(answer))
  keepParsed(bytes, answer)
  let shown = ''
  const most = await mostParsed(t, async () => {
    const openai = PROVIDERS.get('openai')
    const pair = openai && pairOf(anthropicMessagesDialect, openai)
    const decoded = pair?.decode(bytes, aRequest(), ORIGIN)
    assert.ok(decoded?.kind === 'inspected')
    const passed = await decoded.passed
    assert.ok(passed.kind === 'body')
    shown = String(passed.body)
  })
  assert.ok(most <= PARSED_AT_ONCE_MAX, `${most} characters at once`)
  assert.ok(shown.includes(`"input":${JSON.stringify(parsedArguments(text))}`), shown.slice(0, 400))
})
