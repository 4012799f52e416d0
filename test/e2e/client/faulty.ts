/** Runs in a pod: a model server that fails as GET /mode/NAME chose last. It knows only the model `m`. */
import { createServer, type ServerResponse } from 'node:http'

let mode = 'fine'

type Answer = readonly [status: number, body: object]

const FAILURES: Readonly<Record<string, Answer>> = {
  badkey: [401, { message: 'Incorrect API key provided.', code: 'invalid_api_key' }],
  noquota: [
    429,
    {
      message: 'You exceeded your current quota.',
      type: 'insufficient_quota',
      code: 'insufficient_quota',
    },
  ],
  limited: [429, { message: 'Rate limit reached for requests.', code: 'rate_limit_exceeded' }],
  broken: [500, { message: 'CUDA out of memory.' }],
}

const SLOW_MS = 1500

const server = createServer(async (request, response) => {
  const chosen = /^\/mode\/(\w+)$/.exec(request.url ?? '')?.[1]
  if (chosen !== undefined) mode = chosen
  if (request.method !== 'POST') return void send(response, 200, { object: 'list', data: [] })
  let text = ''
  for await (const piece of request) text += piece
  const failure = FAILURES[mode]
  if (failure !== undefined) return void send(response, failure[0], { error: failure[1] })
  if (mode === 'silent') return
  const model = /"model":\s*"([^"]*)"/.exec(text)?.[1]
  if (model !== 'm') {
    const message = `The model "${model}" does not exist.`
    return void send(response, 404, { error: { message, code: 'model_not_found' } })
  }
  setTimeout(() => send(response, 200, answer()), mode === 'slow' ? SLOW_MS : 0)
})

function answer(): object {
  return {
    id: 'fine',
    object: 'chat.completion',
    created: 0,
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content: 'fine' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 3, completion_tokens: 3, total_tokens: 6 },
  }
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify(body))
}

server.listen(9000)
process.on('SIGTERM', () => process.exit(0))
