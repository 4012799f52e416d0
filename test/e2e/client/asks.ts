/** Runs in a pod: sends some requests to a gateway, each on a new connection, and prints their statuses. */
import { Agent, request } from 'node:http'

const [url = '', key = '', model = '', count = '1'] = process.argv.slice(2)

function ask(): Promise<number> {
  return new Promise((resolve) => {
    const sent = request(`${url}/v1/chat/completions`, {
      method: 'POST',
      // The Service chooses a pod for each connection.
      agent: new Agent({ keepAlive: false }),
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    })
    sent.on('response', (response) => {
      response.resume().on('close', () => resolve(response.statusCode ?? 0))
    })
    sent.on('error', () => resolve(0))
    sent.end(JSON.stringify({ model, messages: [{ role: 'user', content: 'who' }] }))
  })
}

const statuses = await Promise.all(Array.from({ length: Number(count) }, ask))
process.stdout.write(statuses.join(' '))
