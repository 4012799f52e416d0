/** Runs in a pod: a model server whose answer is the credential that it was sent. */
import { createServer } from 'node:http'

createServer((request, response) => {
  request.resume()
  response.setHeader('content-type', 'application/json')
  if (request.method !== 'POST') {
    response.end('{"object":"list","data":[]}')
    return
  }
  const content = request.headers.authorization ?? 'none'
  const message = { role: 'assistant', content }
  response.end(
    JSON.stringify({
      id: 'told',
      object: 'chat.completion',
      created: 0,
      model: 'telling',
      choices: [{ index: 0, message, finish_reason: 'stop' }],
      usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
    }),
  )
}).listen(9000)
process.on('SIGTERM', () => process.exit(0))
