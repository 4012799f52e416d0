/**
 * Runs in a pod: a proxy between the operator and the API server that swallows what watches of GatewayKeys send, and ends these
 * watches as too old.
 */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { Agent, request as ask } from 'node:https'

const SILENT_MS = 12_000
const EXPIRED = JSON.stringify({
  type: 'ERROR',
  object: { kind: 'Status', code: 410, reason: 'Expired', message: 'too old resource version' },
})
const agent = new Agent({ ca: readFileSync('/authority/ca.crt'), keepAlive: true })

const server = createServer((request, response) => {
  const url = new URL(request.url ?? '', 'https://kubernetes.default.svc')
  if (url.pathname.endsWith('/gatewaykeys') && url.searchParams.get('watch') === 'true') {
    response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders()
    setTimeout(() => response.end(`${EXPIRED}\n`), SILENT_MS)
    return
  }
  const headers = { ...request.headers, host: url.host }
  const onward = ask(url, { agent, method: request.method, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers).flushHeaders()
    answer.pipe(response)
    answer.on('error', () => response.destroy())
  })
  onward.on('error', () => response.destroy())
  response.on('close', () => onward.destroy())
  request.pipe(onward)
})

server.listen(6443)
process.on('SIGTERM', () => process.exit(0))
