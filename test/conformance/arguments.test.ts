/** Arguments of a call in a conversation mean the same in each form that agents send. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PROVIDERS } from '../../dataplane/providers/index.ts'
import { aRequest, someSettings } from '../helpers/providers/a-request.ts'

/** A conversation with a call, and its result. */
function sentBy(provider: string, args: unknown): unknown {
  const called = { name: 'f', ...(args !== undefined && { arguments: args }) }
  const id = 'D681PevK1'
  const request = aRequest({
    model: 'route',
    messages: [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', tool_calls: [{ id, type: 'function', function: called }] },
      { role: 'tool', tool_call_id: id, content: 'ok' },
    ],
    tools: [{ type: 'function', function: { name: 'f' } }],
  })
  const chat = PROVIDERS.get(provider)?.operations.chat
  return String(chat?.encode(request, someSettings({ region: 'eu-west-1' }), undefined).body)
}

for (const provider of ['anthropic', 'bedrock', 'gemini', 'ollama', 'mistral', 'cohere']) {
  test(`${provider} gets the text of arguments that came as an object`, () => {
    const args = { id: 7, deep: [{ n: 'x' }] }
    assert.equal(sentBy(provider, args), sentBy(provider, JSON.stringify(args)))
  })

  test(`${provider} gets a call without arguments with an empty object`, () => {
    for (const none of ['', ' \n', null, undefined, {}])
      assert.equal(sentBy(provider, none), sentBy(provider, '{}'))
  })
}
