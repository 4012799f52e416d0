/** Verified, alone on a machine: the gateway probes its own routes, and the tool shows and waits for what they answer. */
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import { stringify } from 'yaml'
import { aKey } from '../helpers/a-key.ts'
import { type FakeUpstream, failing, startUpstream, whole } from '../helpers/fake-upstream.ts'
import { type GatewayProcess, startGateway } from '../helpers/gateway-process.ts'
import { gw } from '../helpers/gw.ts'
import { until } from '../helpers/until.ts'

const { key, record } = aKey({ id: 'k' })
let upstream: FakeUpstream
let gateway: GatewayProcess

const configured = (verify: boolean) => ({
  apiVersion: 'inference.gw/v1',
  kind: 'GatewayConfig',
  gw: {
    upstreams: [
      {
        name: 'up',
        provider: 'openai',
        endpoint: upstream.url,
        model: 'm',
        circuit_breaker: { open_duration_seconds: 1 },
      },
    ],
    routes: [{ name: 'chat', strategy: 'single', primary: 'up', verify }],
    api_keys: [record],
  },
})

before(async () => {
  upstream = await startUpstream(whole())
  gateway = await startGateway({ config: configured(true) })
})
after(async () => {
  await upstream.close()
  await gateway.stop()
})

async function verdict() {
  const answer = await fetch(`${gateway.adminUrl}/status`)
  const { verification } = (await answer.json()) as {
    verification?: { routes: { state: string; why?: string }[] }
  }
  return verification?.routes[0]
}

const metrics = async () => await (await fetch(`${gateway.metricsUrl}/metrics`)).text()

test('after the start each verified route is probed, and the tool waits for it and shows it', async () => {
  const waited = await gw('wait', '--for', 'Verified', '--admin', gateway.adminUrl)
  assert.deepEqual([waited.code, waited.stderr], [0, ''])
  assert.match(waited.stdout, /every verified route answers/)
  const shown = await gw('status', '--admin', gateway.adminUrl)
  assert.match(shown.stdout, /^VERIFIED ROUTE +STATE +ANSWER/m)
  assert.match(shown.stdout, /^chat +answers +200 by up/m)
  assert.match(await metrics(), /^gw_route_verified\{route="chat"\} 1$/m)
})

test('no tenant pays for probes, and no client passes for one', async () => {
  assert.doesNotMatch(await metrics(), /^gw_requests_total\{[^}]*route="chat"/m)
  assert.doesNotMatch(await metrics(), /gw:verify/)
  const asked = upstream.asked.length
  for (const forged of ['gw-verify', 'gw:verify', 'gw_verify']) {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${forged}` }
    const body = JSON.stringify({ model: 'chat', messages: [{ role: 'user', content: 'ping' }] })
    const more = { 'x-gw-verify': 'true', 'x-gw-tenant': 'gw:verify', 'user-agent': 'gw-verify' }
    const url = `${gateway.url}/v1/chat/completions`
    const answer = await fetch(url, { method: 'POST', headers: { ...headers, ...more }, body })
    assert.equal(answer.status, 401)
  }
  const headers = {
    'content-type': 'application/json',
    authorization: `Bearer ${key}`,
    'x-gw-verify': 'true',
    'x-gw-tenant': 'gw:verify',
  }
  const body = JSON.stringify({ model: 'chat', messages: [{ role: 'user', content: 'hi' }] })
  const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers,
    body,
  })
  await answer.text()
  assert.equal(upstream.asked.length, asked + 1)
  assert.match(await metrics(), /^gw_ratelimit_admitted_total\{tenant="acme"\} 1$/m)
})

test('an upstream that breaks afterwards is noticed with the opening of its breaker', async () => {
  upstream.reply = failing(500)
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` }
  const body = JSON.stringify({ model: 'chat', messages: [{ role: 'user', content: 'hi' }] })
  await until('the route fails', async () => {
    await (
      await fetch(`${gateway.url}/v1/chat/completions`, { method: 'POST', headers, body })
    ).text()
    return (await verdict())?.state === 'fails'
  })
  assert.match((await verdict())?.why ?? '', /^50\d ERR_GW_/)
  assert.match(await metrics(), /^gw_route_verified\{route="chat"\} 0$/m)
  upstream.reply = whole()
  await until('the route answers again', async () => (await verdict())?.state === 'answers')
})

test('gw apply --verify verifies every route of what it applies, and exits with 1 if one fails', async () => {
  const file = `${gateway.configFile}.next.yaml`
  await writeFile(file, stringify(configured(false)))
  const place = ['--admin', gateway.adminUrl, '--yes'] as const
  const applied = await gw('apply', '-f', file, ...place)
  assert.equal(applied.code, 0, applied.stderr)
  assert.equal(await verdict(), undefined)
  const verified = await gw('apply', '-f', file, '--verify', ...place)
  assert.equal(verified.code, 0, verified.stderr)
  assert.match(verified.stdout, /every verified route answers/)
  upstream.reply = failing(401)
  const other = configured(false)
  const [route] = other.gw.routes
  await writeFile(
    file,
    stringify({ ...other, gw: { ...other.gw, routes: [{ ...route, name: 'talk' }] } }),
  )
  const failed = await gw('apply', '-f', file, '--verify', '--timeout', '3s', ...place)
  assert.equal(failed.code, 1)
  assert.match(failed.stderr, /not verified: .*talk does not answer: 50\d/s)
})
