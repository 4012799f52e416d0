/**
 * Runs in a pod: a model server that answers with the received credential, or with its pod's name
 * if the argument is `host`.
 */
import { createServer } from 'node:http'
import { hostname } from 'node:os'

createServer((request, response) => {
  request.resume()
  response.setHeader('content-type', 'application/json')
  if (request.method !== 'POST') {
    response.end('{"object":"list","data":[]}')
    return
  }
  const credential = request.headers.authorization ?? 'none'
  const content = process.argv[2] === 'host' ? hostname() : credential
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
