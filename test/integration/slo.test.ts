/**
 * The objective for the time to first token: missed, reported everywhere, met again; and requests
 * continue as before.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import {
  after as afterwards,
  startFront,
  startUpstream,
  streaming,
  whole,
} from '../helpers/fake-upstream.ts'
import { until } from '../helpers/until.ts'

const TARGET_MS = 40
const STREAMS = 24
const WINDOW_SECONDS = 8

const [upstream, receiver] = await Promise.all([startUpstream(), startUpstream()])
const front = await startFront({
  upstreams: [{ name: 'up', endpoint: upstream.url }],
  routes: [
    { name: 'chat', strategy: 'single', primary: 'up' },
    {
      name: 'patient',
      strategy: 'single',
      primary: 'up',
      slo: { ttft_p95_ms: 60_000, window_seconds: 600 },
    },
  ],
  slo: { ttft_p95_ms: TARGET_MS, window_seconds: WINDOW_SECONDS },
  alerts: { webhook_url: `${receiver.url}/hook` },
})
after(() => Promise.all([front.process.stop(), upstream.close(), receiver.close()]))

async function objective(route: string) {
  const { objectives } = await front.admin('/status')
  return objectives.find((one: { route: string }) => one.route === route)
}

async function ask(model: string, stream: boolean): Promise<void> {
  // The upstream is slow by design; nothing waits for it in vain.
  const slow = stream ? streaming() : whole()
  upstream.reply = (outgoing, asked) => afterwards(delay(TARGET_MS + 20), slow)(outgoing, asked)
  const asked = Array.from({ length: STREAMS }, () => front.chat({ model, stream }))
  for (const answer of asked) assert.equal((await answer).status, 200)
}

test('slow first tokens are a breach: log, metric, status and one webhook, and no request fails', async () => {
  await ask('patient', true)
  // A slow machine may need more than one window for this many streams.
  await until('it is told', async () => {
    await ask('chat', true)
    return front.logged('slo').length > 0
  })
  const [line] = await breachLines(1)
  assert.partialDeepStrictEqual(line, {
    level: 'warn',
    type: 'ttft_slo_breach',
    code: 'ERR_GW_TTFT_SLO_BREACH',
    route: 'chat',
    target_ms: TARGET_MS,
    window_seconds: WINDOW_SECONDS,
  })
  await until('the webhook is posted', () => receiver.asked.length > 0)
  const { time: _time, level: _level, event: _event, message: _message, ...fields } = line ?? {}
  assert.deepEqual(receiver.asked[0]?.body, fields)
  assert.equal(await front.value('gw_ttft_slo_breaches_total{route="chat"}'), 1)
  assert.equal(await front.value('gw_ttft_slo_breaches_total{route="patient"}'), 0)
  const patient = await objective('patient')
  assert.deepEqual([patient.breached, patient.samples], [false, STREAMS])
  assert.ok(patient.p95_ms > TARGET_MS)
})

test('when the slow ones have left the window the objective is met again', async () => {
  const [, line] = await breachLines(2)
  assert.partialDeepStrictEqual(line, { level: 'info', type: 'ttft_slo_recovery', route: 'chat' })
  assert.equal((await objective('chat')).breached, false)
  assert.equal(await front.value('gw_ttft_slo_breached{route="chat"}'), 0)
  assert.equal(receiver.asked.length, 1)
})

test('answers that are not streams have no first token', async () => {
  await ask('chat', false)
  assert.equal((await objective('chat')).samples, 0)
})

async function breachLines(count: number) {
  await until(`${count} log lines`, () => front.logged('slo').length >= count, 120)
  return front.logged('slo')
}
