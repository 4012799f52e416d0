/**
 * A word that a guardrail forbids never reaches the client, on every API and wherever a stream is
 * cut.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { event, startFront, startUpstream } from '../../helpers/fake-upstream.ts'
import { FORBIDDEN, startSidecar } from '../../helpers/guardrail-sidecar.ts'

const [upstream, sidecar] = await Promise.all([startUpstream(), startSidecar()])
const front = await startFront({
  rate_limits: { default: { requests_per_minute: 100_000 } },
  upstreams: [{ name: 'up', endpoint: upstream.url }],
  routes: [{ name: 'r', strategy: 'single', primary: 'up', guardrails: ['output'] }],
  guardrails: [{ name: 'output', endpoint: sidecar.url, stage: 'output' }],
})
after(() => Promise.all([front.process.stop(), upstream.close(), sidecar.close()]))

const BEFORE = 'word '.repeat(400)
const BEHIND = ' more'.repeat(200)
const MESSAGES = [{ role: 'user', content: 'hello' }]
const APIS: Readonly<Record<string, object>> = {
  'chat/completions': { messages: MESSAGES },
  completions: { prompt: 'hello' },
  messages: { messages: MESSAGES, max_tokens: 9 },
  responses: { input: 'hello' },
}

/** Events with these words, in the API that the upstream is called with. */
function eventsOf(words: readonly string[], path: string): string[] {
  const isChat = path.endsWith('/chat/completions')
  const object = isChat ? 'chat.completion.chunk' : 'text_completion'
  const chunk = (choice: object) =>
    event({ id: 'c', object, created: 1, model: 'm', choices: [{ index: 0, ...choice }] })
  const deltas = words.map((text) =>
    chunk({ finish_reason: null, ...(isChat ? { delta: { content: text } } : { text }) }),
  )
  const end = chunk({ finish_reason: 'stop', ...(isChat ? { delta: {} } : { text: '' }) })
  return [...deltas, end, 'data: [DONE]\n\n']
}

/** The upstream sends the second part after the client has words of the first. */
async function ask(api: string, partsOf: (path: string) => readonly [string, string]) {
  const heard = Promise.withResolvers<void>()
  upstream.reply = async (outgoing, { path }) => {
    const [first, second] = partsOf(path)
    outgoing.writeHead(200, { 'content-type': 'text/event-stream' }).write(first)
    await heard.promise
    outgoing.end(second)
  }
  const answer = await fetch(`${front.process.url}/v1/${api}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${front.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'r', stream: true, ...APIS[api] }),
  })
  let text = ''
  try {
    for await (const piece of answer.body ?? []) {
      text += Buffer.from(piece).toString()
      if (text.includes('word word')) heard.resolve()
    }
  } catch {
    // A stream that is blocked ends with an abort.
  }
  return text
}

for (const api of Object.keys(APIS)) {
  test(`/v1/${api}: a forbidden word split over two events at any point never arrives`, async () => {
    for (let cut = 1; cut < FORBIDDEN.length; cut++) {
      const [head, tail] = [FORBIDDEN.slice(0, cut), FORBIDDEN.slice(cut)]
      const text = await ask(api, (path) => {
        const events = eventsOf([BEFORE, head, tail, BEHIND], path)
        return [events.slice(0, 2).join(''), events.slice(2).join('')]
      })
      assertBlocked(text, `cut behind ${cut} characters`)
    }
  })

  test(`/v1/${api}: a forbidden word whose event is split anywhere on the wire never arrives`, async () => {
    for (let cut = 0; cut <= FORBIDDEN.length; cut++) {
      const text = await ask(api, (path) => {
        const events = eventsOf([BEFORE, FORBIDDEN, BEHIND], path).join('')
        const at = events.indexOf(FORBIDDEN) + cut
        return [events.slice(0, at), events.slice(at)]
      })
      assertBlocked(text, `cut behind ${cut} bytes`)
    }
  })
}

function assertBlocked(text: string, where: string): void {
  assert.match(text, /ERR_GW_GUARDRAIL_BLOCKED/, where)
  assert.doesNotMatch(text, /forb|idden|more/, where)
}
