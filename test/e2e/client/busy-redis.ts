/** Runs in a pod: keeps the only thread of a Redis busy with scripts, until it is ended. */
import { connect } from 'node:net'

const { hostname, port, password } = new URL(process.env.REDIS_URL ?? '')
const socket = connect(Number(port || 6379), hostname)
const LOOP = 'local x = 0 for i = 1, 60000000 do x = x + i end return x'

function send(...words: readonly string[]): void {
  const parts = words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`)
  socket.write(`*${words.length}\r\n${parts.join('')}`)
}

if (password !== '') send('AUTH', decodeURIComponent(password))
send('EVAL', LOOP, '0')
socket.on('data', (reply) => {
  process.stdout.write(reply.toString().slice(0, 60))
  setTimeout(() => send('EVAL', LOOP, '0'), 50)
})
process.on('SIGTERM', () => process.exit(0))
