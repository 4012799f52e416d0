/** Answers of the simulator that have a shape: structured output, tool loops, vectors. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { zodResponseFormat } from 'openai/helpers/zod'
import { z } from 'zod'
import { exampleValue } from '../../cli/simulator/example-value.ts'
import { aSimulator, hello } from './a-simulator.ts'

const Weather = z.object({
  city: z.string(),
  unit: z.enum(['celsius', 'kelvin']),
  days: z.array(z.object({ date: z.iso.date(), high: z.number().min(-90).max(60) })).min(2),
  note: z.string().nullable(),
})

test('a schema in response_format gets a value that it accepts, whole and streamed', async (t) => {
  const { client } = await aSimulator(t)
  const asked = { ...hello, response_format: zodResponseFormat(Weather, 'weather') }
  const whole = await client.chat.completions.parse(asked)
  const [choice] = whole.choices
  assert.equal(choice?.finish_reason, 'stop')
  assert.equal(choice?.message.parsed?.days.length, 2)
  const streamed = await client.chat.completions.stream(asked).finalChatCompletion()
  assert.deepEqual(streamed.choices[0]?.message.parsed, choice?.message.parsed)
})

test('json_object gets an object', async (t) => {
  const { client } = await aSimulator(t)
  const format = { type: 'json_object' as const }
  const answer = await client.chat.completions.create({ ...hello, response_format: format })
  assert.equal(typeof JSON.parse(answer.choices[0]?.message.content ?? '').answer, 'string')
})

test('a loop of tools ends in the requested shape', async (t) => {
  const { client } = await aSimulator(t)
  const seen: unknown[] = []
  const runner = client.chat.completions.runTools({
    ...hello,
    stream: false,
    response_format: zodResponseFormat(z.object({ total: z.int().min(3) }), 'sum'),
    tools: [
      {
        type: 'function',
        function: {
          name: 'add',
          description: 'Add.',
          parameters: { type: 'object', properties: { a: { minimum: 2 } }, required: ['a'] },
          parse: JSON.parse,
          function: (given: object) => {
            seen.push(given)
            return 'five'
          },
        },
      },
    ],
  })
  assert.deepEqual(JSON.parse((await runner.finalContent()) ?? ''), { total: 3 })
  assert.deepEqual(seen, [{ a: 2 }])
})

test('only allowed tools are called', async (t) => {
  const { client } = await aSimulator(t)
  const tool = (name: string) => ({ type: 'function' as const, function: { name } })
  const answer = await client.chat.completions.create({
    ...hello,
    tools: [tool('weather'), tool('clock')],
    tool_choice: {
      type: 'allowed_tools',
      allowed_tools: { mode: 'required', tools: [tool('clock')] },
    },
  })
  const [call] = answer.choices[0]?.message.tool_calls ?? []
  assert.ok(call?.type === 'function' && call.function.name === 'clock')
})

const schemas: readonly (readonly [what: string, schema: Record<string, unknown>])[] = [
  ['numbers in bounds', { type: 'number', exclusiveMinimum: 2, maximum: 3 }],
  ['multiples', { type: 'integer', minimum: 7, multipleOf: 5 }],
  ['numbers below', { type: 'integer', maximum: -4 }],
  ['long texts', { type: 'string', minLength: 20 }],
  ['short texts', { type: 'string', maxLength: 3 }],
  ['patterns', { type: 'string', pattern: '^(?:[A-Z]{2}|x)-\\d{3,}[^a-z]+(foo)?$' }],
  ['uuids', { type: 'string', format: 'uuid' }],
  ['lists of a length', { type: 'array', items: { type: 'boolean' }, minItems: 3, maxItems: 4 }],
  ['empty lists', { type: 'array', maxItems: 0 }],
  [
    'all of several',
    {
      allOf: [
        { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] },
        { type: 'object', properties: { b: { type: 'string' } }, required: ['b'] },
      ],
    },
  ],
  [
    'trees',
    {
      type: 'object',
      properties: {
        next: { anyOf: [{ $ref: '#' }, { type: 'null' }] },
        children: { type: 'array', items: { $ref: '#' } },
      },
      required: ['next', 'children'],
    },
  ],
]

for (const [what, schema] of schemas) {
  test(`the schema of ${what} accepts the value that is made for it`, () => {
    const value = exampleValue(schema)
    const { success, error } = z.fromJSONSchema(schema).safeParse(value)
    assert.ok(success, `${JSON.stringify(value)}: ${error?.message}`)
  })
}

test('vectors are the same for the same text, near for shared words, and have length 1', async (t) => {
  const { client } = await aSimulator(t)
  const input = ['a cat sat', 'a cat ran', 'quarterly tax report', 'a cat sat']
  const { data, usage, model } = await client.embeddings.create({ model: 'vectors', input })
  const [one = [], near = [], far = [], again] = data.map(({ embedding }) => embedding)
  assert.deepEqual([one.length, model, usage.prompt_tokens], [1536, 'vectors', 12])
  assert.deepEqual(again, one)
  const dot = (a: number[], b: number[]) => a.reduce((sum, x, i) => sum + x * (b[i] ?? 0), 0)
  assert.ok(Math.abs(dot(one, one) - 1) < 1e-5)
  assert.ok(dot(one, near) > 0.5 && dot(one, far) < 0.2, `${dot(one, near)}, ${dot(one, far)}`)
})

test('vectors have the requested dimensions, as numbers and as base64', async (t) => {
  const { client } = await aSimulator(t)
  const asked = { model: 'vectors', input: [1, 2, 3], dimensions: 8 }
  const floats = await client.embeddings.create({ ...asked, encoding_format: 'float' })
  const packed = await client.embeddings.create({ ...asked, encoding_format: 'base64' })
  const bytes = Buffer.from(String(packed.data[0]?.embedding), 'base64')
  assert.equal(bytes.length, 32)
  assert.equal(floats.data[0]?.embedding[7], bytes.readFloatLE(28))
  await assert.rejects(client.embeddings.create({ ...asked, input: [] }), { status: 400 })
})
