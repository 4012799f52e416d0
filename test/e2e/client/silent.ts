/**
 * Runs in a pod: a model server that is silent for the number of seconds in the question, in a
 * stream or before another answer.
 */
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'

const chunk = (delta: object, finish_reason: string | null) =>
  `data: ${JSON.stringify({
    ...{ id: 'silent', object: 'chat.completion.chunk', created: 0, model: 'silent' },
    choices: [{ index: 0, delta, finish_reason }],
  })}\n\n`

createServer(async (request, response) => {
  if (request.method !== 'POST') {
    response.end('{"object":"list","data":[]}')
    return
  }
  const { stream, messages } = JSON.parse(await text(request))
  const silenceMs = Number(messages.at(-1).content) * 1000
  if (stream) {
    response.setHeader('content-type', 'text/event-stream')
    response.write(chunk({ content: 'hel' }, null))
    await delay(silenceMs)
    response.write(chunk({ content: 'lo' }, null))
    response.end(`${chunk({}, 'stop')}data: [DONE]\n\n`)
    return
  }
  await delay(silenceMs)
  response.setHeader('content-type', 'application/json')
  response.end(
    JSON.stringify({
      ...{ id: 'silent', object: 'chat.completion', created: 0, model: 'silent' },
      choices: [
        { index: 0, message: { role: 'assistant', content: 'hello' }, finish_reason: 'stop' },
      ],
      usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
    }),
  )
}).listen(9000)
process.on('SIGTERM', () => process.exit(0))
