/** The Vercel AI SDK; the API is chat (`openai-compatible`), responses (`openai`) or messages (`anthropic`). */
import { z } from 'zod'
import { api, baseURL, run, version } from './cases.mjs'

const {
  generateText,
  stepCountIs,
  isStepCount = stepCountIs,
  streamText,
  Output,
  tool,
} = await import(version)

async function modelOf(apiKey, model) {
  if (api === 'chat') {
    const { createOpenAICompatible } = await import(`${version}-openai-compatible`)
    const options = { includeUsage: true, supportsStructuredOutputs: true }
    return createOpenAICompatible({ name: 'gw', apiKey, baseURL, ...options })(model)
  }
  if (api === 'responses')
    return (await import(`${version}-openai`)).createOpenAI({ apiKey, baseURL })(model)
  return (await import(`${version}-anthropic`)).createAnthropic({ apiKey, baseURL })(model)
}

const asked = async (key, model) => ({
  model: await modelOf(key, model),
  prompt: 'hi',
  onError: () => {},
})

await run({
  async ask(key, model) {
    return (await generateText(await asked(key, model))).text
  },
  async *stream(key, model) {
    const leaving = new AbortController()
    const options = { ...(await asked(key, model)), abortSignal: leaving.signal }
    try {
      const { fullStream, stream = fullStream } = streamText(options)
      for await (const part of stream) {
        if (part.type === 'error') throw part.error
        if (part.type === 'text-delta') yield part.text
        if (part.type === 'finish') yield { usage: part.totalUsage.totalTokens }
      }
    } finally {
      leaving.abort()
    }
  },
  async tools(key, model) {
    const get_weather = tool({
      inputSchema: z.object({ city: z.string() }),
      execute: ({ city }) => `sunny in ${city}`,
    })
    const options = { tools: { get_weather }, stopWhen: isStepCount(3) }
    return (await generateText({ ...(await asked(key, model)), ...options })).text
  },
  async shape(key, model) {
    const output = Output.object({ schema: z.object({ city: z.string() }) })
    const answer = await generateText({ ...(await asked(key, model)), output })
    return answer.output
  },
})
