import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { difficultyOf, featuresOf } from '../../../dataplane/strategies/difficulty.ts'
import { semantic } from '../../../dataplane/strategies/semantic.ts'
import type { ChatBody } from '../../../dataplane/wire/inner-form.ts'
import { aChoice, aRequest, aRoute, named, namesOf } from './choices.ts'

const EASY = [
  'hello',
  '',
  'What is the capital of France?',
  'Translate "good morning" into Spanish.',
  'Thanks, that was great!',
  'Write a short birthday greeting for my colleague.',
  'Summarise this in one sentence: the meeting was moved to Tuesday because of the weather.',
  'Why is the sky blue?',
  'What time is it in Tokyo when it is noon in Berlin?',
  'List three fruits.',
]

const HARD = [
  'Prove that the square root of 2 is irrational, and derive the general theorem for every prime.',
  'Analyse the root cause of this deadlock step by step and compare two ways to fix it.',
  '```python\ndef f(x):\n    return x ** 2\n```\nThis function throws an exception, debug it.',
  'Solve the integral ∫ x^2 + 3x dx, then compute its limit as x goes to infinity.',
  'Design a rate limiter for a distributed system; evaluate the trade-offs of each architecture.',
  'Refactor this class:\nclass A {\n  run() { return this.x == null ? await load() : this.x; }\n}\n',
  'Find the eigenvalues of the matrix \\begin{pmatrix}1 & 2\\end{pmatrix} and the determinant.',
]

for (const prompt of EASY) {
  test(`an easy prompt scores below one half: ${JSON.stringify(prompt)}`, () => {
    assert.ok(difficultyOf(aRequest(prompt).body) < 0.5, `${difficultyOf(aRequest(prompt).body)}`)
  })
}

for (const prompt of HARD) {
  test(`a hard prompt scores one half or more: ${JSON.stringify(prompt)}`, () => {
    assert.ok(difficultyOf(aRequest(prompt).body) >= 0.5, `${difficultyOf(aRequest(prompt).body)}`)
  })
}

const features = [
  ['length', aRequest('a '.repeat(1500)), 0.5],
  ['turns', aRequest(Array(4).fill({ role: 'user', content: 'go on' })), 0.5],
  ['code', aRequest('the function has a bug'), 0.5],
  ['mathematics', aRequest('the determinant of a matrix as a theorem'), 1],
  ['reasoning', aRequest('justify it'), 0.5],
  ['structure', aRequest('hi', { response_format: { type: 'json_schema' } }), 1],
  ['structure', aRequest('hi', { response_format: { type: 'json_object' } }), 0.5],
  ['structure', aRequest('hi', { tools: [{ type: 'function' }] }), 0.5],
  ['structure', aRequest('as a table'), 0.5],
] as const

for (const [feature, request, expected] of features) {
  test(`${feature} is ${expected} for ${JSON.stringify(request.body).slice(0, 80)}`, () => {
    assert.equal(featuresOf(request.body)[feature], expected)
  })
}

test('the words of the system prompt do not make a prompt hard, its length does', () => {
  const system = { role: 'system', content: 'Analyse, reason and prove step by step.' }
  const { reasoning, length } = featuresOf(aRequest([system, { role: 'user', content: 'hi' }]).body)
  assert.equal(reasoning, 0)
  assert.ok(length > 0)
})

test('text parts are read like a string, and parts without text are skipped', () => {
  const parts = [{ type: 'text', text: HARD[0] }, { type: 'image_url' }, null, { text: 7 }]
  const { reasoning, mathematics } = featuresOf(aRequest([{ role: 'user', content: parts }]).body)
  const plain = featuresOf(aRequest(HARD[0]).body)
  assert.deepEqual([reasoning, mathematics], [plain.reasoning, plain.mathematics])
})

test('only the end of a long conversation is read', () => {
  const hard = { role: 'user', content: HARD[0] }
  const padding = { role: 'user', content: 'la '.repeat(3000) }
  assert.equal(featuresOf(aRequest([hard, padding]).body).mathematics, 0)
  const many = [hard, ...Array(16).fill({ role: 'user', content: 'go on' })]
  assert.equal(featuresOf(aRequest(many).body).mathematics, 0)
})

test('every prompt has a score from 0 to 1, always the same', () => {
  const message = fc.record({
    role: fc.constantFrom('user', 'assistant', 'system', 'tool'),
    content: fc.oneof(
      fc.string({ unit: 'binary', maxLength: 400 }),
      fc.jsonValue(),
      fc.constant(null),
    ),
  })
  fc.assert(
    fc.property(fc.array(message, { maxLength: 20 }), fc.jsonValue(), (messages, anything) => {
      const members = { response_format: anything, tools: anything }
      const body = { model: 'm', messages, ...members } as ChatBody
      const score = difficultyOf(body)
      assert.ok(score >= 0 && score <= 1)
      assert.equal(difficultyOf(structuredClone(body)), score)
    }),
  )
})

const ORDERS = [
  ['an easy prompt goes to the small model first', EASY[2]!, 0.5, 'sl', 'sl'],
  ['a hard prompt goes to the large model first', HARD[0]!, 0.5, 'sl', 'ls'],
  ['the order of the configuration does not matter', EASY[2]!, 0.5, 'ls', 'sl'],
  ['a score at the threshold is hard', '', 0, 'sl', 'ls'],
  ['no prompt reaches a threshold of 1', HARD[0]!, 1, 'sl', 'sl'],
  ['the other side replaces a missing one', HARD[0]!, 0.5, 's', 's'],
] as const

for (const [sentence, prompt, threshold, eligible, expected] of ORDERS) {
  test(`semantic: ${sentence}`, () => {
    const route = aRoute({ semantic: { easy: 's', hard: 'l', threshold } })
    const choice = aChoice({ route, eligible: named(eligible), request: aRequest(prompt) })
    assert.equal(namesOf(semantic.order(choice)), expected)
  })
}
