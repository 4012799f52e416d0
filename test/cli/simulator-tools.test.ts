import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aSimulator, hello } from './a-simulator.ts'

const parameters = {
  type: 'object',
  properties: {
    city: { $ref: '#/$defs/City' },
    unit: { enum: ['celsius', 'kelvin'] },
    days: { type: ['integer', 'null'], minimum: 2 },
    places: { type: 'array', items: { anyOf: [{ type: 'boolean' }, { type: 'string' }] } },
    optional: { type: 'string' },
  },
  required: ['city', 'unit', 'days', 'places'],
  $defs: { City: { type: 'object', properties: { name: {} }, required: ['name'] } },
}
const tool = (name: string) => ({ type: 'function' as const, function: { name, parameters } })
const withTools = { ...hello, tools: [tool('weather'), tool('clock')] }
const wanted = { city: { name: 'example' }, unit: 'celsius', days: 2, places: [true] }

test('tools are answered with a call to the first of them', async (t) => {
  const { client } = await aSimulator(t)
  const answer = await client.chat.completions.create(withTools)
  const [choice] = answer.choices
  assert.equal(choice?.finish_reason, 'tool_calls')
  assert.equal(choice?.message.content, null)
  const [call] = choice?.message.tool_calls ?? []
  assert.ok(call?.type === 'function')
  assert.equal(call.function.name, 'weather')
  assert.deepEqual(JSON.parse(call.function.arguments), wanted)
})

test('a streamed call arrives in pieces that join', async (t) => {
  const { client } = await aSimulator(t)
  const stream = client.chat.completions.stream(withTools)
  const final = await stream.finalChatCompletion()
  const [call] = final.choices[0]?.message.tool_calls ?? []
  assert.ok(call?.type === 'function')
  assert.deepEqual(JSON.parse(call.function.arguments), wanted)
})

test('the choice of a tool is honoured', async (t) => {
  const { client } = await aSimulator(t)
  const none = await client.chat.completions.create({ ...withTools, tool_choice: 'none' })
  assert.equal(none.choices[0]?.finish_reason, 'stop')
  const clock = { type: 'function' as const, function: { name: 'clock' } }
  const named = await client.chat.completions.create({ ...withTools, tool_choice: clock })
  const [call] = named.choices[0]?.message.tool_calls ?? []
  assert.ok(call?.type === 'function' && call.function.name === 'clock')
})

const custom = (name: string) => ({ type: 'custom' as const, custom: { name } })

test('a custom tool is called with a text', async (t) => {
  const { client } = await aSimulator(t)
  const asked = {
    ...hello,
    tools: [tool('weather'), custom('shell')],
    tool_choice: custom('shell'),
  }
  const answer = await client.chat.completions.create(asked)
  assert.equal(answer.choices[0]?.finish_reason, 'tool_calls')
  const called = { id: 'call_1_0', ...custom('shell') }
  assert.deepEqual(answer.choices[0]?.message.tool_calls, [
    { ...called, custom: { name: 'shell', input: 'example input' } },
  ])
  const calls = []
  for await (const { choices } of await client.chat.completions.create({ ...asked, stream: true }))
    calls.push(...(choices[0]?.delta.tool_calls ?? []))
  assert.deepEqual(calls, [
    { index: 0, ...called, custom: { name: 'shell', input: '' } },
    { index: 0, custom: { input: 'example' } },
    { index: 0, custom: { input: ' input' } },
  ])
})

test('the result of a tool is answered in words, so that an agent ends', async (t) => {
  const { client } = await aSimulator(t)
  const result = { role: 'tool' as const, tool_call_id: 'call_1_0', content: 'sunny' }
  const messages = [...hello.messages, result]
  const answer = await client.chat.completions.create({ ...withTools, messages })
  assert.equal(answer.choices[0]?.message.content, 'The tool said: sunny')
})

test('a reminder of the user behind the result of a tool does not make it call again', async (t) => {
  const { client } = await aSimulator(t)
  const call = {
    id: 'call_1_0',
    type: 'function' as const,
    function: { name: 'f', arguments: '{}' },
  }
  const messages = [
    ...hello.messages,
    { role: 'assistant' as const, tool_calls: [call] },
    { role: 'tool' as const, tool_call_id: 'call_1_0', content: 'sunny' },
    { role: 'user' as const, content: 'Remember your task.' },
  ]
  const first = await client.chat.completions.create({ ...withTools, messages })
  assert.equal(first.choices[0]?.finish_reason, 'stop')
  const { message } = first.choices[0] ?? assert.fail()
  const next = [...messages, message, { role: 'user' as const, content: 'And now?' }]
  const second = await client.chat.completions.create({ ...withTools, messages: next })
  assert.equal(second.choices[0]?.finish_reason, 'tool_calls')
})

test('without tool calls it calls one only where the request requires it', async (t) => {
  const { client } = await aSimulator(t, { toolCalls: false })
  const reason = async (more: object) => {
    const { choices } = await client.chat.completions.create({ ...withTools, ...more })
    return choices[0]?.finish_reason
  }
  assert.equal(await reason({}), 'stop')
  assert.equal(await reason({ tool_choice: 'auto' }), 'stop')
  assert.equal(await reason({ tool_choice: 'required' }), 'tool_calls')
  const clock = { type: 'function', function: { name: 'clock' } }
  assert.equal(await reason({ tool_choice: clock }), 'tool_calls')
})

test('a schema that refers to itself comes to an end', async (t) => {
  const { client } = await aSimulator(t)
  const endless = { properties: { next: { $ref: '#' } }, required: ['next'] }
  const tools = [{ type: 'function' as const, function: { name: 'f', parameters: endless } }]
  const answer = await client.chat.completions.create({ ...hello, tools })
  assert.equal(answer.choices[0]?.finish_reason, 'tool_calls')
})
