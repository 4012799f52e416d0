/** `gw status` and `gw version` of a stand-alone gateway. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { after, test } from 'node:test'
import { VERSION } from '../../dataplane/base/version.ts'
import { refusingUrl, startFront, startUpstream } from '../helpers/fake-upstream.ts'
import { collectOutput } from '../helpers/gateway-process.ts'
import { TOOL } from '../helpers/gw.ts'
import { gw } from '../helpers/gw-here.ts'
import { until } from '../helpers/until.ts'

const upstream = await startUpstream()
const front = await startFront({
  upstreams: [{ name: 'up', endpoint: upstream.url }],
  routes: [{ name: 'chat', strategy: 'single', primary: 'up' }],
  slo: { ttft_p95_ms: 500 },
})
after(() => Promise.all([front.process.stop(), upstream.close()]))
const { adminUrl, configFile } = front.process

test('status shows configuration, store, upstreams and objectives', async () => {
  const { code, stdout, stderr } = await gw('status', '--admin', adminUrl)
  assert.deepEqual([code, stderr], [0, ''])
  const { config } = await front.admin('/status')
  assert.ok(stdout.includes(`${config.hash.slice(0, 12)} from ${configFile}`), stdout)
  assert.match(stdout, /^store +backend memory$/m)
  assert.match(stdout, /^serves +1 route, 1 key$/m)
  assert.match(stdout, /^up +openai +yes +not probed +closed +0 +\S+$/m)
  assert.match(stdout, /TTFT P95 MS|P95 MS/)
  const json = await gw('status', '--admin', adminUrl, '-o', 'json')
  assert.equal(JSON.parse(json.stdout).config.hash, config.hash)
})

test('status --watch shows it again when it has changed, and ends as Ctrl-C ends programs', async (t) => {
  const child = spawn(process.execPath, [TOOL, 'status', '--watch', '--admin', adminUrl])
  t.after(() => child.kill('SIGKILL'))
  const output = collectOutput(child)
  const ended = once(child, 'close')
  await until('the first status', () => output().includes('last reload'))
  const text = await readFile(configFile, 'utf8')
  await writeFile(configFile, text.replace('primary: up', 'primary: ghost'))
  await until('the refusal is shown', () => /failure, \d+ s ago.*ghost/s.test(output()))
  child.kill('SIGINT')
  const [code] = await ended
  assert.equal(code, 130)
  assert.equal((await gw('status', '--admin', adminUrl)).code, 1)
  await writeFile(configFile, text)
  await until(
    'it is taken',
    async () => (await front.admin('/status')).config.last_reload.result === 'success',
  )
})

test('without its shared store a gateway is ready only with fail_open', async (t) => {
  const url = (await refusingUrl()).replace('http:', 'redis:')
  const codes = [true, false].map(async (fail_open) => {
    const { process: gateway } = await startFront({
      upstreams: [{ name: 'up', endpoint: upstream.url }],
      routes: [{ name: 'chat', strategy: 'single', primary: 'up' }],
      rate_limits: { backend: 'redis', redis: { url, fail_open } },
    })
    t.after(() => gateway.stop())
    await until('the loss is known', () => gateway.output().includes('"state":"away"'))
    const { code, stdout } = await gw('status', '--admin', gateway.adminUrl)
    assert.match(
      stdout,
      fail_open ? /^state +serving$/m : /^state +not ready: the shared store is away/m,
    )
    return code
  })
  assert.deepEqual(await Promise.all(codes), [0, 1])
})

test('version shows the tool and the gateway, and only the tool if no gateway answers', async () => {
  const { stdout } = await gw('version', '--admin', adminUrl, '-o', 'json')
  const gateways = [{ name: adminUrl, version: VERSION }]
  assert.deepEqual(JSON.parse(stdout), { client: VERSION, gateways })
  const alone = await gw('version', '--admin', await refusingUrl(), '-o', 'json')
  assert.equal(alone.code, 0)
  assert.deepEqual(JSON.parse(alone.stdout), { client: VERSION, gateways: [] })
  assert.match(alone.stderr, /No gateway answers/)
})
