/** Codex adds tools within the input of a response; other APIs get them among the tools of the request. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { refusalOf, sentBy } from '../helpers/providers/sent-by.ts'

const FUNCTION = { type: 'function', name: 'f', parameters: { type: 'object', properties: {} } }
const SPACE = { type: 'namespace', name: 'n', description: 'd', tools: [FUNCTION] }
const USER = { role: 'user', content: 'Hi' }

const added = (tools: readonly object[]) => ({ type: 'additional_tools', role: 'developer', tools })

for (const provider of ['vllm', 'anthropic', 'bedrock', 'gemini', 'ollama', 'mistral'] as const) {
  const way = { api: 'responses', provider } as const

  test(`${provider} gets tools that an item adds, also within a namespace`, () => {
    const { body } = sentBy(way, { input: [added([FUNCTION, SPACE]), USER] })
    assert.deepEqual(
      body.tools,
      sentBy(way, { input: [USER], tools: [FUNCTION, SPACE] }).body.tools,
    )
  })

  test(`${provider} gets a tool once that an item repeats`, () => {
    const input = [added([SPACE]), USER, added([FUNCTION, SPACE])]
    const { body } = sentBy(way, { input, tools: [FUNCTION] })
    assert.deepEqual(
      body.tools,
      sentBy(way, { input: [USER], tools: [FUNCTION, SPACE] }).body.tools,
    )
  })

  test(`${provider}: an item adds no tools that an upstream would run`, () => {
    const input = [added([{ type: 'web_search' }]), USER]
    assert.equal(refusalOf(way, { input }), 'input[0].tools')
  })
}
