/** Schemas, efforts and names reach each vendor in a form that it accepts. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sentBy } from '../helpers/providers/sent-by.ts'

const tool = (parameters: object, more: object = {}) => ({
  type: 'function',
  function: { name: 'f', parameters, ...more },
})
const APIS = ['chat', 'messages', 'responses'] as const
const LACKING = [{ type: 'object' }, {}, { type: 'object', additionalProperties: false }]

/** The same tool as a client of each API writes it. */
function toolIn(api: (typeof APIS)[number], schema: object): object {
  if (api === 'messages') return { name: 'f', input_schema: schema }
  return api === 'chat'
    ? tool(schema)
    : { ...tool(schema).function, type: 'function', strict: false }
}

for (const api of APIS)
  for (const provider of ['openai', 'azure_openai'] as const)
    test(`${provider} gets objects with properties from ${api}`, () => {
      for (const schema of LACKING) {
        const way = { api, provider, model: 'gpt-5.1' }
        const { body, complaints } = sentBy(way, { tools: [toolIn(api, schema)] })
        assert.deepEqual(body.tools[0].function.parameters, {
          ...schema,
          type: 'object',
          properties: {},
        })
        assert.deepEqual(complaints, [])
      }
    })

for (const provider of ['openai', 'azure_openai'] as const)
  test(`${provider} gets them in responses that pass, also within a namespace`, () => {
    const plain = { type: 'function', name: 'f', parameters: { type: 'object' }, strict: false }
    const inner = { type: 'namespace', name: 'n', description: 'd', tools: [plain] }
    const way = { api: 'responses', provider, model: 'gpt-5.1', isNative: true } as const
    const { body, complaints } = sentBy(way, { tools: [plain, inner] })
    const whole = { ...plain, parameters: { type: 'object', properties: {} } }
    assert.deepEqual(body.tools, [whole, { ...inner, tools: [whole] }])
    assert.deepEqual(complaints, [])
  })

for (const provider of ['anthropic', 'bedrock', 'ollama'] as const)
  test(`${provider} gets a schema without a type as one of an object`, () => {
    const { body, complaints } = sentBy({ api: 'chat', provider }, { tools: [tool({})] })
    assert.match(JSON.stringify(body), /"type":"object"/)
    assert.deepEqual(complaints, [])
  })

const PERSON = {
  type: 'object',
  properties: {
    age: { type: 'integer', minimum: 0, maximum: 150, description: 'In years.' },
    names: {
      type: 'array',
      items: { type: 'string', pattern: '^[A-Z]' },
      maxItems: 3,
      minItems: 2,
    },
    pet: { oneOf: [{ $ref: '#/$defs/Pet' }, { type: 'null' }] },
    notes: { type: 'object', additionalProperties: { type: 'string' } },
  },
  required: ['age'],
  $defs: { Pet: { type: 'object', properties: { born: { type: 'string', format: 'date' } } } },
}
const CLOSED = {
  type: 'object',
  properties: {
    age: { type: 'integer', description: 'In years.\n\n{minimum: 0, maximum: 150}' },
    names: {
      type: 'array',
      items: { type: 'string', description: '{pattern: "^[A-Z]"}' },
      description: '{maxItems: 3, minItems: 2}',
    },
    pet: { anyOf: [{ $ref: '#/$defs/Pet' }, { type: 'null' }] },
    notes: {
      type: 'object',
      additionalProperties: false,
      description: '{additionalProperties: {"type":"string"}}',
    },
  },
  required: ['age'],
  $defs: {
    Pet: {
      type: 'object',
      properties: { born: { type: 'string', format: 'date' } },
      additionalProperties: false,
    },
  },
  additionalProperties: false,
}
const FORMAT = {
  response_format: { type: 'json_schema', json_schema: { name: 'answer', schema: PERSON } },
}
const OF_RESPONSES = { text: { format: { type: 'json_schema', name: 'answer', schema: PERSON } } }

for (const [api, asked] of [
  ['chat', FORMAT],
  ['responses', OF_RESPONSES],
] as const) {
  test(`the schema of an answer is closed at Anthropic, and its bounds are words: ${api}`, () => {
    const { body, complaints } = sentBy({ api, provider: 'anthropic' }, asked)
    assert.deepEqual(body.output_config.format.schema, CLOSED)
    assert.deepEqual(complaints, [])
  })

  test(`the same for Claude at Bedrock, and other models get it unchanged: ${api}`, () => {
    const schemaAt = (model: string) => {
      const { body, complaints } = sentBy({ api, provider: 'bedrock', model }, asked)
      assert.deepEqual(complaints, [])
      return JSON.parse(body.outputConfig.textFormat.structure.jsonSchema.schema)
    }
    assert.deepEqual(schemaAt('us.anthropic.claude-opus-4-6-v1:0'), CLOSED)
    assert.deepEqual(schemaAt('openai.gpt-oss-120b-1:0'), PERSON)
  })
}

/** A recursive type, as Pydantic writes it. */
const TREE = {
  $ref: '#/$defs/Tree',
  $defs: {
    Tree: {
      type: 'object',
      properties: { twigs: { type: 'array', items: { $ref: '#/$defs/Tree' } } },
      additionalProperties: false,
    },
  },
}

for (const [form, schema] of Object.entries({
  $defs: TREE,
  definitions: {
    $ref: '#/definitions/Tree',
    definitions: { Tree: { ...TREE.$defs.Tree, properties: {} } },
  },
}))
  for (const provider of ['anthropic', 'bedrock'] as const)
    test(`${provider}: a schema that is a reference keeps its ${form}`, () => {
      const way = { api: 'chat', provider, model: 'anthropic.claude-sonnet-4-5' } as const
      const format = { type: 'json_schema', json_schema: { name: 'n', schema, strict: true } }
      const tools = [tool(schema, { strict: true })]
      const answer = sentBy(way, { response_format: format }).text
      const called = sentBy(way, { tools }).text
      for (const text of [answer, called])
        assert.match(text.replaceAll('\\', ''), /"Tree":\{"type":"object"/)
    })

test('a tool is strict if its client requests it, and then closed', () => {
  const { body } = sentBy(
    { api: 'chat', provider: 'anthropic' },
    { tools: [tool(PERSON, { strict: true }), tool(PERSON)] },
  )
  assert.deepEqual(body.tools[0], { name: 'f', input_schema: CLOSED, strict: true })
  assert.deepEqual(body.tools[1], { name: 'f', input_schema: PERSON })
})

test('a schema of messages is strict elsewhere if it requires all its properties', () => {
  const strictOf = (schema: object) =>
    sentBy(
      { api: 'messages', provider: 'openai' },
      { output_config: { format: { type: 'json_schema', schema } } },
    ).body.response_format.json_schema.strict
  const properties = { a: { type: 'string' } }
  const open = { type: 'object', properties, additionalProperties: false }
  assert.deepEqual([strictOf(open), strictOf({ ...open, required: ['a'] })], [false, true])
})

const NO_EFFORT = ['gpt-4.1', 'gpt-4o-mini', 'llama-3.3-70b-versatile']
const EFFORT = {
  chat: { reasoning_effort: 'low' },
  messages: { output_config: { effort: 'low' } },
  responses: { reasoning: { effort: 'low' } },
}

for (const api of APIS) {
  test(`an effort of ${api} is left out and named with a model that does not reason`, () => {
    for (const model of NO_EFFORT) {
      const { body, named } = sentBy({ api, provider: 'openai', model }, EFFORT[api])
      assert.equal(body.reasoning_effort, undefined)
      assert.ok(named.includes('reasoning_effort'), named.join())
    }
    const { body } = sentBy({ api, provider: 'openai', model: 'gpt-5.1' }, EFFORT[api])
    assert.equal(body.reasoning_effort, 'low')
  })
}

test('the same in responses that pass', () => {
  const way = { api: 'responses', provider: 'openai', model: 'gpt-4.1', isNative: true } as const
  const { body, named } = sentBy(way, EFFORT.responses)
  assert.deepEqual([body.reasoning, named], [undefined, ['reasoning']])
})

const LONG = `user_${'a1'.repeat(93)}`
const DIGEST = /^[0-9a-f]{64}$/

for (const provider of ['openai', 'azure_openai'] as const)
  test(`${provider} gets one digest for a long user`, () => {
    const names = { user: LONG, safety_identifier: LONG, prompt_cache_key: LONG }
    const { body, complaints } = sentBy({ api: 'chat', provider }, names)
    for (const name of Object.keys(names)) assert.match(body[name], DIGEST)
    assert.deepEqual(complaints, [])
    const way = { api: 'messages', provider } as const
    assert.equal(sentBy(way, { metadata: { user_id: LONG } }).body.user, body.user)
    const passed = sentBy({ api: 'responses', provider, isNative: true }, { user: LONG })
    assert.equal(passed.body.user, body.user)
    assert.equal(sentBy({ api: 'chat', provider }, { user: 'u'.repeat(64) }).body.user.length, 64)
    assert.equal(sentBy({ api: 'chat', provider: 'vllm' }, { user: LONG }).body.user, undefined)
  })
