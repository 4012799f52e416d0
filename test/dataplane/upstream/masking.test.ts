/** An upstream's text in logs and answers: never with its credential, and never long. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openai } from '../../../dataplane/providers/openai/provider.ts'
import { masked } from '../../../dataplane/upstream/attempt/masking.ts'

const CREDENTIAL = 'sk-4f2a91c07be35d68-of-the-upstream'
const HEADER = 'Basic dXNlcjpwYXNzd29yZA'
const SENT = { credential: CREDENTIAL, headers: { 'x-auth': HEADER, 'x-flag': 'true' } }

/** As an attempt shows it: from the bytes of the answer. */
function shown(body: unknown, sent = SENT) {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return masked(openai.classify(400, {}, Buffer.from(text)), sent)
}

test('a credential at the edge of the shown text is masked before the text is shortened', () => {
  for (const secret of [CREDENTIAL, HEADER]) {
    for (let before = 1_990 - secret.length; before <= 2_000; before++) {
      for (const body of [
        `${'x'.repeat(before)}${secret} is wrong`,
        { error: { message: `${'x'.repeat(before)}${secret} is wrong` } },
        { error: 'x'.repeat(before) + secret },
      ]) {
        const { message } = shown(body)
        assert.ok(message.length <= 2_000)
        const edge = message.slice(before)
        assert.ok('*** is wrong'.startsWith(edge), `${before} before: ${edge}`)
      }
    }
  }
})

test('labels are masked before they are shortened', () => {
  const at = 'x'.repeat(190)
  const { type, param, code } = shown({
    error: { message: 'm', type: at + CREDENTIAL, param: at + HEADER, code: at + CREDENTIAL },
  })
  for (const label of [type, param, code]) {
    assert.equal(label?.length, 193)
    assert.ok(label.endsWith('x***'))
  }
})

test('a text that ends in the middle of a credential shows nothing of it', () => {
  for (let length = 8; length < CREDENTIAL.length; length++) {
    const { message } = shown(`your key ${CREDENTIAL.slice(0, length)}`)
    assert.equal(message, 'your key ***')
  }
})

test('words that are not part of a credential stay', () => {
  const { message, type, param, code } = shown({ error: { message: 'It is true, sk-.', code: 7 } })
  assert.deepEqual([message, type, param, code], ['It is true, sk-.', null, null, '7'])
  assert.equal(shown('plain', { credential: '', headers: {} } as never).message, 'plain')
})

test('a message is never longer than 2,000 characters, and a label than 200', () => {
  const long = 'y'.repeat(10_000)
  const { message, type, param, code } = shown({
    error: { message: long, type: long, param: long, code: long },
  })
  assert.deepEqual(
    [message, type, param, code].map((text) => text?.length),
    [2_000, 200, 200, 200],
  )
})
