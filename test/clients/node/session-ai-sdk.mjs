/** A session of the Vercel AI SDK; the API is chat (`openai-compatible`), responses (`openai`) or messages (`anthropic`). */
import { z } from 'zod'
import {
  api,
  apiKey,
  baseURL,
  doRun,
  editFile,
  lookAt,
  model,
  play,
  readFile,
  version,
} from './session.mjs'

const { isStepCount, streamText, tool } = await import(version)

async function modelOf() {
  if (api === 'chat') {
    const { createOpenAICompatible } = await import(`${version}-openai-compatible`)
    return createOpenAICompatible({ name: 'gw', apiKey, baseURL, includeUsage: true })(model)
  }
  if (api === 'responses')
    return (await import(`${version}-openai`)).createOpenAI({ apiKey, baseURL })(model)
  return (await import(`${version}-anthropic`)).createAnthropic({ apiKey, baseURL })(model)
}

const path = z.string()
const tools = {
  read_file: tool({ inputSchema: z.object({ path }), execute: readFile }),
  edit_file: tool({
    inputSchema: z.object({ path, old_text: z.string(), new_text: z.string() }),
    execute: editFile,
  }),
  run_command: tool({ inputSchema: z.object({ command: z.string() }), execute: doRun }),
  view_image: tool({
    inputSchema: z.object({ path }),
    execute: lookAt,
    toModelOutput: ({ output }) => ({
      type: 'content',
      value: [{ type: 'file', data: { type: 'data', data: output }, mediaType: 'image/png' }],
    }),
  }),
}

/** As JSON, between the turns. */
let kept = '[]'

async function turn(prompt, heard, picture) {
  const leaving = new AbortController()
  // In chat completions the SDK sends the pictures of tools as text.
  const file = { type: 'file', data: `data:image/png;base64,${picture}`, mediaType: 'image/png' }
  const content = [...(picture && api === 'chat' ? [file] : []), { type: 'text', text: prompt }]
  const messages = [...JSON.parse(kept), { role: 'user', content }]
  const answer = streamText({
    model: await modelOf(),
    messages,
    tools,
    stopWhen: isStepCount(12),
    abortSignal: leaving.signal,
    // Otherwise the SDK names earlier items by the ids under which the API would store them.
    providerOptions: { openai: { store: false } },
    onError: () => {},
  })
  let text = ''
  for await (const part of answer.fullStream ?? answer.stream) {
    if (part.type === 'error') throw part.error
    if (part.type === 'text-delta') text += part.text
    if (part.type === 'text-delta' && heard?.(text)) leaving.abort()
  }
  if (leaving.signal.aborted) return text
  const { messages: more } = await answer.response
  kept = JSON.stringify([...messages, ...more])
  return text
}

await play({
  turn,
  restart(summary) {
    kept = JSON.stringify([{ role: 'user', content: summary }])
  },
})
