/** LangChain over chat completions or messages. */
import { HumanMessage, ToolMessage } from '@langchain/core/messages'
import { tool } from '@langchain/core/tools'
import { z } from 'zod'
import { api, baseURL, run, url } from './cases.mjs'

const place = z.object({ city: z.string() })
const weather = tool(({ city }) => `sunny in ${city}`, {
  name: 'get_weather',
  description: 'Tells the weather.',
  schema: place,
})

async function modelOf(apiKey, model) {
  if (api === 'messages') {
    const { ChatAnthropic } = await import('@langchain/anthropic')
    return new ChatAnthropic({ model, apiKey, anthropicApiUrl: url, maxTokens: 99 })
  }
  const { ChatOpenAI } = await import('@langchain/openai')
  return new ChatOpenAI({ model, apiKey, configuration: { baseURL } })
}

await run({
  async ask(key, model) {
    return (await (await modelOf(key, model)).invoke('hi')).text
  },
  async *stream(key, model) {
    const leaving = new AbortController()
    let usage = 0
    try {
      const stream = await (await modelOf(key, model)).stream('hi', { signal: leaving.signal })
      for await (const { text, usage_metadata: counts } of stream) {
        usage += counts?.total_tokens ?? 0
        if (text) yield text
      }
      yield { usage }
    } finally {
      leaving.abort()
    }
  },
  async tools(key, model) {
    const bound = (await modelOf(key, model)).bindTools([weather])
    const asked = [new HumanMessage('Weather?')]
    const first = await bound.invoke(asked)
    asked.push(first)
    for (const { args, id } of first.tool_calls)
      asked.push(new ToolMessage({ content: await weather.invoke(args), tool_call_id: id }))
    return (await bound.invoke(asked)).text
  },
  async shape(key, model) {
    const bound = (await modelOf(key, model)).withStructuredOutput(place, { name: 'place' })
    return await bound.invoke('hi')
  },
})
