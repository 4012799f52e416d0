/** Runs in a pod: sends some requests to a gateway, each on a new connection, and prints their statuses. */
import { randomInt } from 'node:crypto'
import { Agent, request } from 'node:http'

const [url = '', key = '', model = '', count = '1', kind = 'whole'] = process.argv.slice(2)

function ask(): Promise<number> {
  return new Promise((resolve) => {
    const sent = request(`${url}/v1/chat/completions`, {
      method: 'POST',
      // The Service chooses a pod for each connection.
      agent: new Agent({ keepAlive: false }),
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${key}`,
        // Each request is of another session; their texts are equal.
        'x-session-id': `session-${randomInt(1e12)}`,
      },
    })
    sent.on('response', (response) => {
      response.resume().on('close', () => resolve(response.statusCode ?? 0))
    })
    sent.on('error', () => resolve(0))
    const messages = [{ role: 'user', content: 'who' }]
    sent.end(JSON.stringify({ model, messages, stream: kind === 'stream' }))
  })
}

const statuses = await Promise.all(Array.from({ length: Number(count) }, ask))
process.stdout.write(statuses.join(' '))
