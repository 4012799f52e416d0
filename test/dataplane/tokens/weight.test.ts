/** The tokens of a text without a tokenizer: near enough for a charge, and rather too many than too few. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { countTokens as cl100k } from 'gpt-tokenizer/encoding/cl100k_base'
import { countTokens as o200k } from 'gpt-tokenizer/encoding/o200k_base'
import { promptTokensMax } from '../../../dataplane/tokens/count.ts'
import { promptWeight } from '../../../dataplane/tokens/prompt-weight.ts'
import { weightOf } from '../../../dataplane/tokens/weight.ts'
import { anEmbeddingsRequest, aRequest } from '../../helpers/providers/a-request.ts'
import { aRandom } from '../../helpers/random.ts'

const page = (path: string) => readFileSync(join(import.meta.dirname, '../../..', path), 'utf8')
const random = aRandom(20_261_126)
const numbers = Array.from({ length: 300 }, () => random(1_000_000_000))
const weigh = (text: string) => weightOf(Buffer.from(text))

const TEXTS: Readonly<Record<string, string>> = {
  prose: page('dataplane/docs/limits.md'),
  code: page('dataplane/upstream/attempt/attempt.ts'),
  JSON: page('package.json'),
  schemas: page('dataplane/config/schema.generated.json').slice(0, 40_000),
  'short words': 'w '.repeat(1000),
  numbers: numbers.join(' '),
  hexadecimal: numbers.map((number) => number.toString(16)).join(''),
  marks: '!@#$%^&*()_+{}|:"<>?~`-=[];,./'.repeat(40),
  Chinese: '机器学习模型从大量数据中学习规律,我们需要认真思考它带来的影响。'.repeat(20),
  Japanese: 'これは日本語の文章です。人工知能は世界を変えています。'.repeat(20),
  German: 'Die Größe der Straße überrascht alle Fußgänger.'.repeat(20),
  French: "L'intelligence artificielle a été créée pour aider les êtres humains. ".repeat(20),
  Russian: 'Мы должны внимательно думать о последствиях. '.repeat(20),
  pictures: '😀🚀🎉🔥'.repeat(50),
}

for (const [name, text] of Object.entries(TEXTS)) {
  test(`${name}: no less than 0.9 of the tokens of a widespread tokenizer`, () => {
    const least = Math.min(o200k(text), cl100k(text))
    assert.ok(weigh(text) >= 0.9 * least, `${weigh(text)} of ${least}`)
  })
}

test('prose, code, data and words are at most a quarter off', () => {
  for (const name of [
    'prose',
    'code',
    'JSON',
    'schemas',
    'short words',
    'numbers',
    'hexadecimal',
  ]) {
    const text = TEXTS[name] as string
    assert.ok(weigh(text) <= 1.25 * o200k(text), `${name}: ${weigh(text)} of ${o200k(text)}`)
  }
})

test('a text has the same weight in its JSON form', () => {
  for (const text of ['a "quoted" word', 'two\nlines', 'tab\there', 'größer', '模型']) {
    assert.equal(weigh(JSON.stringify(text).slice(1, -1)), weigh(text), text)
  }
  assert.equal(weigh('\\u6a21\\u578b'), weigh('模型'))
})

const chat = (content: unknown) => aRequest({ messages: [{ role: 'user', content }] as never })

test('a prompt has the weight of its texts, four tokens for each message, and a thousand for a picture', () => {
  assert.equal(promptWeight(chat('word '.repeat(40_000))), 40_004)
  const picture = {
    type: 'image_url',
    image_url: { url: `data:image/png;base64,${'A'.repeat(90_000)}` },
  }
  assert.equal(promptWeight(chat([{ type: 'text', text: 'Tell me of' }, picture])), 1_007)
})

test("a picture that the model has generated weighs the same as the user's, and adds the same to the bound", () => {
  const image = {
    type: 'image_url',
    image_url: { url: `data:image/png;base64,${'A'.repeat(90_000)}` },
  }
  const painted = aRequest({
    messages: [{ role: 'assistant', content: 'Here', images: [image] }] as never,
  })
  assert.equal(promptWeight(painted), 1_005)
  assert.ok(promptTokensMax(painted.bytes, painted.body) < 17_000)
})

test('inputs have the weight of their texts, and a number is a token', () => {
  assert.equal(promptWeight(anEmbeddingsRequest({ input: ['one two', 'three'] })), 3)
  assert.equal(promptWeight(anEmbeddingsRequest({ input: [1, 2, 3, 4] })), 4)
})
