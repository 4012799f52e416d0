/** Keys that clients send in the wrong place: logs, traces and answers do not show them. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { until } from '../../helpers/until.ts'
import { CHAT_BODY, startFront } from './front.ts'
import { type Sent, sendTo } from './send.ts'

const front = await startFront()
after(() => front.stop())

const OTHERS = [
  'sk-proj-0123456789abcdefghij',
  'gw_live_other_0123456789abcdefghijklmnopqrstuvwxyz',
]
const PLANTED = [front.key, ...OTHERS]

function requestsWith(key: string): readonly Sent[] {
  const encoded = `%${key.charCodeAt(0).toString(16)}${key.slice(1)}`
  const get = (path: string): Sent => ({ path, method: 'GET' })
  return [
    get(`/v1/models?key=${key}`),
    get(`/v1/models/${key}`),
    get(`/v1/models/${encoded}?api_key=${key}`),
    get(`/${key}`),
    get(`/v2/${encoded}/chat?key=${key}`),
    get(`/v1/chat/completions?key=${key}`),
    get(`/healthz/${key}`),
    { path: `/v1/chat/completions?key=${key}` },
    { path: `/v1/models/${key}` },
    { body: CHAT_BODY.replace('"chat"', JSON.stringify(key)) },
    { headers: { authorization: key } },
    { headers: { 'x-request-id': key } },
    {
      method: 'OPTIONS',
      headers: { origin: `https://${key}`, 'access-control-request-method': 'POST' },
    },
  ]
}

test('a key in a path, a query, a model or a header appears in no log, trace or answer', async () => {
  const ids = new Set<string>()
  for (const key of PLANTED) {
    for (const sent of requestsWith(key)) {
      const answer = await sendTo(front, sent)
      clean(answer.text + JSON.stringify(answer.headers), JSON.stringify(sent))
      if (sent.method !== 'OPTIONS') ids.add(String(answer.headers['x-request-id']))
    }
  }
  const logged = () => [...ids].every((id) => front.gateway.output().includes(id))
  await until('all are logged', async () => logged())
  clean(front.gateway.output(), 'the log')
  const { adminUrl, adminHeaders: headers } = front.gateway
  clean(await (await fetch(`${adminUrl}/traces?limit=1000`, { headers })).text(), 'the traces')
  assert.doesNotMatch(front.gateway.output(), /"path":"[^"]*\?/)
})

function clean(text: string, where: string): void {
  for (const key of PLANTED) assert.ok(!text.includes(key.slice(5)), where)
}
