/** OpenAI's SDK, any major version, over chat completions or responses. */
import { api, baseURL, run, schema, version } from './cases.mjs'

const { default: OpenAI } = await import(version)
const clientOf = (apiKey) => new OpenAI({ apiKey, baseURL })
const question = [{ role: 'user', content: 'hi' }]
const json_schema = { name: 'place', schema, strict: true }

const chat = {
  async ask(key, model, messages = question, options = {}) {
    const asked = { model, messages, ...options }
    const answer = await clientOf(key).chat.completions.create(asked)
    return answer.choices[0].message.content
  },
  async *stream(key, model) {
    const asked = { model, messages: question, stream_options: { include_usage: true } }
    for await (const { usage, choices } of await clientOf(key).chat.completions.create({
      ...asked,
      stream: true,
    })) {
      if (usage) yield { usage: usage.total_tokens }
      for (const { delta } of choices) if (delta.content) yield delta.content
    }
  },
  async tools(key, model) {
    const { completions } = clientOf(key).beta?.chat ?? clientOf(key).chat
    const runTools = completions.runTools ?? clientOf(key).chat.completions.runTools
    const tool = {
      name: 'get_weather',
      parameters: schema,
      parse: JSON.parse,
      function: ({ city }) => `sunny in ${city}`,
    }
    const tools = [{ type: 'function', function: tool }]
    return await runTools.call(completions, { model, messages: question, tools }).finalContent()
  },
  async shape(key, model) {
    const response_format = { type: 'json_schema', json_schema }
    return JSON.parse(await chat.ask(key, model, question, { response_format }))
  },
}

const responses = {
  async ask(key, model, options = {}) {
    return (await clientOf(key).responses.create({ model, input: 'hi', ...options })).output_text
  },
  async *stream(key, model) {
    const stream = clientOf(key).responses.stream({ model, input: 'hi' })
    try {
      for await (const event of stream) {
        if (event.type === 'response.output_text.delta') yield event.delta
      }
      const { usage } = await stream.finalResponse()
      yield { usage: usage.total_tokens }
    } finally {
      stream.abort()
    }
  },
  async tools(key, model) {
    const tools = [{ type: 'function', name: 'get_weather', parameters: schema, strict: true }]
    const first = await clientOf(key).responses.create({ model, input: question, tools })
    const results = first.output
      .filter(({ type }) => type === 'function_call')
      .map(({ call_id, arguments: text }) => ({
        type: 'function_call_output',
        call_id,
        output: `sunny in ${JSON.parse(text).city}`,
      }))
    const input = [...question, ...first.output, ...results]
    return (await clientOf(key).responses.create({ model, input, tools })).output_text
  },
  async shape(key, model) {
    const text = { format: { type: 'json_schema', ...json_schema } }
    return JSON.parse(await responses.ask(key, model, { text }))
  },
}

await run(api === 'responses' ? responses : chat)
