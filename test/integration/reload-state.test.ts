/** The gateway's knowledge of unchanged upstreams survives a new configuration. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, test } from 'node:test'
import { parse, stringify } from 'yaml'
import {
  anUpstream,
  errorOf,
  failing,
  startFront,
  startUpstream,
  whole,
} from '../helpers/fake-upstream.ts'
import { until } from '../helpers/until.ts'

type Section = Record<string, unknown>

const [old, fresh] = await Promise.all([startUpstream(), startUpstream()])
const front = await startFront({
  upstreams: [{ name: 'old', endpoint: old.url }],
  routes: [{ name: 'chat', strategy: 'single', primary: 'old' }],
})
after(() => Promise.all([front.process.stop(), old.close(), fresh.close()]))
const first = parse(await readFile(front.process.configFile, 'utf8'))

/** Applies the document of the start with other sections. */
async function serve(sections: Section): Promise<void> {
  const body = stringify({ ...first, gw: { ...first.gw, ...sections } })
  const { adminUrl, adminHeaders: headers } = front.process
  const answer = await fetch(`${adminUrl}/config`, { method: 'PUT', headers, body })
  assert.equal(answer.status, 200, await answer.text())
}

test('an open breaker stays open if a change does not affect its upstream', async () => {
  const upstream = anUpstream({
    name: 'old',
    endpoint: old.url,
    circuit_breaker: { failure_threshold: 2 },
  })
  const fragile = (more: Section = {}) => ({ upstreams: [upstream], ...more })
  await serve(fragile())
  old.reply = failing(500)
  for (const _ of [1, 2]) assert.equal((await front.chat()).status, 502)
  assert.equal(await front.value('gw_breaker_state{upstream="old",state="open"}'), 1)
  await serve(
    fragile({
      aliases: { other: 'chat' },
      gateway: { ...first.gw.gateway, max_request_bytes: 4096 },
    }),
  )
  assert.equal(errorOf(await front.chat({ model: 'other' })).code, 'ERR_GW_NO_HEALTHY_UPSTREAM')
  assert.equal(old.asked.length, 2)
  const [status] = (await front.admin('/status')).upstreams
  assert.partialDeepStrictEqual(status, { breaker: 'open', eligible: false })
  // Another address is another upstream, about which nothing is known.
  await serve(fragile({ upstreams: [{ ...upstream, endpoint: fresh.url }] }))
  assert.equal((await front.chat()).status, 200)
})

test('an unhealthy upstream stays out if a change does not affect it', async () => {
  const health_check = { path: '/health', interval_seconds: 1, unhealthy_threshold: 1 }
  const upstream = anUpstream({ name: 'old', endpoint: old.url, health_check })
  old.reply = whole()
  old.healthy = false
  await serve({ upstreams: [upstream] })
  await until(
    'it is out',
    async () => (await front.series()).get('gw_upstream_healthy{upstream="old"}') === 0,
  )
  await serve({ upstreams: [{ ...upstream, timeout_seconds: 9 }] })
  assert.equal((await front.chat()).status, 503)
  old.healthy = true
  await until('it is back', async () => (await front.chat()).status === 200)
})

test('an upstream whose health check is removed is available again, and its probe results are forgotten', async () => {
  const health_check = { path: '/health', interval_seconds: 60, unhealthy_threshold: 1 }
  const quick = { ...health_check, interval_seconds: 1 }
  const upstream = anUpstream({ name: 'old', endpoint: old.url })
  const gauge = async () => (await front.series()).get('gw_upstream_healthy{upstream="old"}')
  old.reply = whole()
  old.healthy = false
  await serve({ upstreams: [{ ...upstream, health_check: quick }] })
  await until('it is out', async () => (await gauge()) === 0)
  await serve({ upstreams: [upstream] })
  assert.equal(await gauge(), undefined)
  assert.equal((await front.chat()).status, 200)
  old.healthy = true
  await serve({ upstreams: [{ ...upstream, health_check }] })
  assert.notEqual(await gauge(), 0)
  assert.equal((await front.chat()).status, 200)
})
