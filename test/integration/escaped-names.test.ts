/**
 * A client cannot change how the gateway parses names in another client's request, although the
 * runtime's parser would.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startFront, startUpstream } from '../helpers/fake-upstream.ts'
import { FORBIDDEN, startSidecar } from '../helpers/guardrail-sidecar.ts'

const raw = String.raw
const [upstream, sidecar] = await Promise.all([startUpstream(), startSidecar()])
const front = await startFront({
  rate_limits: { default: { requests_per_minute: 100_000 } },
  upstreams: [
    { name: 'up', endpoint: upstream.url, context_window: 50_000 },
    { name: 'ollama', provider: 'ollama', endpoint: upstream.url },
  ],
  routes: [
    { name: 'r', strategy: 'single', primary: 'up' },
    { name: 'guarded', strategy: 'single', primary: 'up', guardrails: ['input'] },
    { name: 'rewritten', strategy: 'single', primary: 'ollama' },
  ],
  guardrails: [{ name: 'input', endpoint: sidecar.url, stage: 'input' }],
})
after(() => Promise.all([front.process.stop(), upstream.close(), sidecar.close()]))

async function ask(body: string): Promise<{ status: number; text: string }> {
  const answer = await fetch(`${front.process.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${front.key}`, 'content-type': 'application/json' },
    body,
  })
  return { status: answer.status, text: await answer.text() }
}

const MESSAGES = raw`"messages":[{"role":"user","content":"hi"}]`

test('an input guardrail sees the text below an escaped name', async () => {
  const body = (name: string) =>
    raw`{"model":"guarded","messages":[{"role":"user",${name}:"${FORBIDDEN}"}]}`
  await ask(body(raw`"conten\\"`))
  upstream.asked.length = 0
  const { status, text } = await ask(body(raw`"conten\u0074"`))
  assert.equal(status, 400, text)
  assert.match(text, /ERR_GW_GUARDRAIL_BLOCKED/)
  assert.equal(upstream.asked.length, 0)
})

test('an escaped limit is checked against the context window', async () => {
  await ask(raw`{"model":"r",${MESSAGES},"max_t\\u006":5}`)
  const { status, text } = await ask(raw`{"model":"r",${MESSAGES},"max_t\u006fkens":60000}`)
  assert.equal(status, 400, text)
  assert.match(text, /ERR_GW_CONTEXT_OVERFLOW/)
})

test('an escaped number of choices is checked against its bound', async () => {
  await ask(raw`{"model":"r",${MESSAGES},"\\":5}`)
  const { status, text } = await ask(raw`{"model":"r",${MESSAGES},"\u006e":1000}`)
  assert.equal(status, 400, text)
  assert.equal(JSON.parse(text).error.param, 'n')
})

test('the properties of a tool keep their names in a request to an upstream with another wire', async () => {
  const tool = (name: string) =>
    raw`{"model":"rewritten",${MESSAGES},"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{"art":{"type":"string"},${name}:{"type":"string"}}}}}]}`
  await ask(tool(raw`"gr\\u0"`))
  upstream.asked.length = 0
  await ask(tool(raw`"gr\u00f6\u00dfe"`))
  assert.match(JSON.stringify(upstream.asked[0]?.body), /"properties":\{"art":\{[^}]*\},"größe":\{/)
})

test('the log of a start names the fault of the runtime, if it has the fault', async () => {
  await ask(raw`{"model":"r",${MESSAGES}}`)
  JSON.parse(raw`{"first":1,"conten\\":1}`)
  const hasFault = !('content' in JSON.parse(raw`{"first":1,"conten\u0074":1}`))
  const lines = front.logged('runtime')
  assert.equal(lines.length, hasFault ? 1 : 0)
  for (const { level, message } of lines) {
    assert.equal(level, 'warn')
    assert.match(String(message), /reads escaped names of JSON wrongly/)
  }
})
