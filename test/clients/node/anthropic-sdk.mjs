/** Anthropic's SDK, by messages. */
import Anthropic from '@anthropic-ai/sdk'
import { run, schema, url } from './cases.mjs'

const clientOf = (apiKey) => new Anthropic({ apiKey, baseURL: url }).messages
const asked = (model) => ({ model, max_tokens: 99, messages: [{ role: 'user', content: 'hi' }] })

await run({
  async ask(key, model, options = {}) {
    return (await clientOf(key).create({ ...asked(model), ...options })).content[0].text
  },
  async *stream(key, model) {
    const stream = clientOf(key).stream(asked(model))
    try {
      for await (const event of stream)
        if (event.type === 'content_block_delta') yield event.delta.text
      const { usage } = await stream.finalMessage()
      yield { usage: usage.input_tokens + usage.output_tokens }
    } finally {
      stream.abort()
    }
  },
  async tools(key, model) {
    const { messages, ...others } = asked(model)
    const tools = [{ name: 'get_weather', input_schema: schema }]
    const { content } = await clientOf(key).create({ ...others, messages, tools })
    const results = content
      .filter(({ type }) => type === 'tool_use')
      .map(({ id, input }) => ({
        type: 'tool_result',
        tool_use_id: id,
        content: `sunny in ${input.city}`,
      }))
    const turns = [
      { role: 'assistant', content },
      { role: 'user', content: results },
    ]
    const last = await clientOf(key).create({ ...others, messages: [...messages, ...turns], tools })
    return last.content[0].text
  },
  async shape(key, model) {
    const output_config = { format: { type: 'json_schema', schema } }
    const { content } = await clientOf(key).create({ ...asked(model), output_config })
    return JSON.parse(content[0].text)
  },
})
