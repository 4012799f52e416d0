/**
 * A process that discards the bytes of an attack in place of the gateway: then only the load on the machine affects
 * other requests. Prints its port; ends with its standard input.
 */
import { createServer, request } from 'node:http'

const upstream = process.argv[2] ?? ''

const server = createServer((incoming, outgoing) => {
  let body = ''
  incoming.on('data', (piece: Buffer) => {
    if (body.length < 65_536) body += piece.toString('latin1')
  })
  incoming.on('error', () => {})
  incoming.on('end', () => {
    const answer = (status: number) => void outgoing.writeHead(status).end('{}')
    // Attacks by an upstream start with a short request to it.
    if (body.length > 1_000) {
      answer(400)
      return
    }
    const headers = { 'content-type': 'application/json', 'content-length': body.length }
    const asked = request(`${upstream}/chat/completions`, { method: 'POST', headers }, (from) => {
      from.resume()
      from.on('close', () => answer(200))
    })
    asked.on('error', () => answer(502))
    asked.end(body, 'latin1')
  })
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  console.log(typeof address === 'object' ? address?.port : 0)
})
process.stdin.on('end', () => process.exit(0)).resume()
