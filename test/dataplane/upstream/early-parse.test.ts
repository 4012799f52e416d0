/** Answers of megabytes are parsed in short steps, with the same value as one parse. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import fc from 'fast-check'
import { atOnce } from '../../../dataplane/base/steps.ts'
import { PIECE_BYTES } from '../../../dataplane/json/members.ts'
import { parsing } from '../../../dataplane/json/steps/parsing.ts'
import { keepParsed, parsedBytes } from '../../../dataplane/json/values.ts'

const VALUES_MAX = 1_048_576
/** Four parts of a long string, in quotes. */
const PARSED_IN_A_STEP_MAX = 4 * PIECE_BYTES + 2
const LENGTH = 2_000_000

const ANSWERS: Readonly<Record<string, string>> = {
  'a text of JSON': `{"choices":[{"message":{"content":"${'\\"a\\":'.repeat(LENGTH / 6)}"}}]}`,
  'a text of backslashes': `{"choices":[{"message":{"content":"${'\\\\'.repeat(LENGTH / 2)}"}}]}`,
  'many numbers': `{"data":[{"embedding":[${'0.125,'.repeat(LENGTH / 6)}1]}]}`,
  'names that decide about a request, twice': `{"Model":"a","model":"b","model":"c","x":"${'y'.repeat(LENGTH)}"}`,
  'more members than a request may have': `{${Array.from({ length: 300 }, (_, at) => `"k${at}":"${'z'.repeat(LENGTH / 300)}"`).join()}}`,
}

for (const [what, text] of Object.entries(ANSWERS)) {
  test(`an answer of megabytes is parsed in short steps: ${what}`, (t) => {
    const bytes = Buffer.from(text)
    const parse = t.mock.method(JSON, 'parse')
    const steps = parsing(bytes, VALUES_MAX)
    let longest = 0
    let step = steps.next()
    while (step.done !== true) {
      parse.mock.resetCalls()
      step = steps.next()
      const texts = parse.mock.calls.map(({ arguments: [one] }) => String(one).length)
      longest = Math.max(
        longest,
        texts.reduce((sum, one) => sum + one, 0),
      )
    }
    assert.ok(longest <= PARSED_IN_A_STEP_MAX, `${longest} characters in one step`)
    assert.deepEqual(step.value, JSON.parse(text))
  })
}

test('bytes that are not a JSON object, or have too many values, have no value', () => {
  for (const text of ['{', '{"a":1}x', '[1]', '{"a":[1,2,3,4]}', `{"a":"${'x'.repeat(70_000)}`])
    assert.equal(atOnce(parsing(Buffer.from(text), 4)), undefined, text.slice(0, 20))
})

test('bytes that are not UTF-8 are still parsed, wherever a part ends', () => {
  const inside = fc.uint8Array({ minLength: 200_000, maxLength: 200_000 })
  fc.assert(
    fc.property(inside, (random) => {
      const text = Buffer.from(random).map((byte) => byte | 0x80)
      const bytes = Buffer.concat([Buffer.from('{"a":"'), text, Buffer.from('"}')])
      const { a } = atOnce(parsing(bytes, VALUES_MAX)) as { a: string }
      assert.ok(a.length > 0)
    }),
    { numRuns: 5 },
  )
})

test('the value that was parsed earlier is read in one turn, and its bytes are parsed after that', async () => {
  const bytes = Buffer.from('{"a":1}')
  keepParsed(bytes, 'earlier')
  for (let reader = 0; reader < 3; reader++) assert.equal(parsedBytes(bytes), 'earlier')
  await setImmediate()
  assert.deepEqual(parsedBytes(bytes), { a: 1 })
})
