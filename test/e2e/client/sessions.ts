/**
 * Runs in a pod: conversations of six turns through a gateway; counts the later turns that reached
 * a server of their conversation.
 */
import { request } from 'node:http'

const [url = '', key = '', model = ''] = process.argv.slice(2)
const SESSIONS = 60
const TURNS = 6
const AT_ONCE = 4

interface Message {
  readonly role: string
  readonly content: string
}

/** On a separate connection, so that any pod of the gateway may get it. The server answers with its name. */
function ask(messages: readonly Message[]): Promise<string> {
  const body = JSON.stringify({ model, messages, max_tokens: 8 })
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` }
  return new Promise((resolve, reject) => {
    const asked = request(`${url}/v1/chat/completions`, { method: 'POST', agent: false, headers })
    asked.on('response', (answer) => {
      let text = ''
      answer.setEncoding('utf8').on('data', (piece: string) => {
        text += piece
      })
      answer.on('end', () => resolve(text))
    })
    asked.on('error', reject)
    asked.end(body)
  })
}

let [hits, later, next] = [0, 0, 0]
const servers: Record<string, number> = {}

async function run(session: number): Promise<void> {
  const messages: Message[] = [{ role: 'user', content: `session ${session}` }]
  const seen = new Set<string>()
  for (let turn = 0; turn < TURNS; turn++) {
    const content: string = JSON.parse(await ask(messages)).choices[0].message.content
    servers[content] = (servers[content] ?? 0) + 1
    if (turn > 0) later += 1
    if (seen.has(content)) hits += 1
    seen.add(content)
    messages.push({ role: 'assistant', content }, { role: 'user', content: `turn ${turn}` })
  }
}

const lane = async () => {
  while (next < SESSIONS) await run(next++)
}
await Promise.all(Array.from({ length: AT_ONCE }, lane))
process.stdout.write(JSON.stringify({ hits, later, servers }))
