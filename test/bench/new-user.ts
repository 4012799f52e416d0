/** A new user's hour in four minutes: the defaults, and a real model that writes five tokens a second. */
import { aKey } from '../helpers/a-key.ts'
import { startGateway } from '../helpers/gateway-process.ts'
import { startModelServer } from '../helpers/model/model-server.ts'
import { startPaced } from './paced.ts'

const TOKENS_PER_SECOND = 5
const WHOLE_SECONDS = 40
const STREAM_SECONDS = 180
const PLAIN_REQUESTS = 20
const BUDGET_TOKENS = 150

const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const IMAGE = { type: 'image_url', image_url: { url: `data:image/png;base64,${PIXEL}` } }

const model = await startModelServer({ model: 'loop', parallel: 4, context: 16_384 })
const paced = await startPaced(model.url, TOKENS_PER_SECOND)
const alone = aKey({ id: 'alone', tenant: 'alone' })
const team = aKey({ id: 'team', tenant: 'team' })
const gateway = await startGateway({
  config: {
    apiVersion: 'inference.gw/v1',
    kind: 'GatewayConfig',
    gw: {
      upstreams: [{ name: 'local', provider: 'llamacpp', endpoint: paced.url, model: 'local' }],
      routes: [{ name: 'chat', strategy: 'single', primary: 'local' }],
      api_keys: [alone.record, team.record],
      budgets: [{ tenant: 'team', tokens_per_day: BUDGET_TOKENS }],
      // Omitted, as a new user omits them.
      rate_limits: undefined,
    },
  },
})
let isRight = true

interface Asked {
  readonly key?: string
  readonly content?: unknown
  readonly tokens: number
  readonly stream?: boolean
}

async function ask({ key = alone.key, content = 'Go on.', tokens, stream = false }: Asked) {
  const began = performance.now()
  const messages = [{ role: 'user', content }]
  const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'chat', messages, max_tokens: tokens, stream }),
  })
  const text = await answer.text().catch(() => 'It was cut.')
  return { status: answer.status, text, seconds: (performance.now() - began) / 1000 }
}

function tell(holds: boolean, what: string): void {
  isRight &&= holds
  process.stdout.write(`${holds ? 'ok    ' : 'WRONG '} ${what}\n`)
}

async function wholeAnswer(): Promise<void> {
  const tokens = WHOLE_SECONDS * TOKENS_PER_SECOND
  const { status, text, seconds } = await ask({ tokens })
  const isWhole = status === 200 && text.includes(`"completion_tokens":${tokens}`)
  tell(isWhole, `a whole answer of ${tokens} tokens: ${status} after ${seconds.toFixed(0)} s`)
}

async function longStream(): Promise<void> {
  const tokens = STREAM_SECONDS * TOKENS_PER_SECOND
  const { status, text, seconds } = await ask({ tokens, stream: true })
  const events = text.split('data: {').length - 1
  const isWhole = status === 200 && text.trimEnd().endsWith('data: [DONE]') && events >= tokens
  const heard = `${status}, ${events} events over ${seconds.toFixed(0)} s`
  tell(isWhole, `a stream of ${tokens} tokens: ${heard}${isWhole ? '' : `: ${text.slice(-300)}`}`)
}

async function pictureThenText(): Promise<void> {
  const text = { type: 'text', text: 'What is this?' }
  for (let asked = 1; asked <= 6; asked++) {
    const picture = await ask({ content: [text, IMAGE], tokens: 5 })
    if (asked === 1 || picture.status !== 400)
      tell(picture.status === 400, `a picture to a text model: ${picture.status} ${picture.text}`)
  }
  const plain = []
  for (let asked = 0; asked < PLAIN_REQUESTS; asked++) plain.push(await ask({ tokens: 5 }))
  const refused = plain.filter(({ status }) => status !== 200)
  tell(
    refused.length === 0,
    `${plain.length} plain requests after six of them: ${refused.length} refused`,
  )
}

async function budgetToItsEnd(): Promise<void> {
  const statuses: number[] = []
  let last = ''
  while (statuses.length < 20 && statuses.at(-1) !== 402) {
    const { status, text } = await ask({ key: team.key, tokens: 25 })
    statuses.push(status)
    last = text
  }
  const served = statuses.slice(0, -1)
  const holds = served.length > 2 && served.every((status) => status === 200)
  const code = last.includes('ERR_GW_BUDGET_EXCEEDED')
  tell(holds && code, `a budget of ${BUDGET_TOKENS} tokens: ${statuses.join(' ')}`)
}

try {
  await Promise.all([longStream(), wholeAnswer(), pictureThenText(), budgetToItsEnd()])
  const status = await fetch(`${gateway.adminUrl}/status`, { headers: gateway.adminHeaders })
  const { upstreams } = JSON.parse(await status.text())
  tell(upstreams[0].breaker === 'closed', `the breaker at the end: ${upstreams[0].breaker}`)
} finally {
  await gateway.stop()
  paced.close()
  await model.stop()
}
process.exitCode = isRight ? 0 : 1
