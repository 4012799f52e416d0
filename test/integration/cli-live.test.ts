/** Commands for daily work with a running gateway: `gw models`, `gw top` and `gw wait`. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { after, test } from 'node:test'
import { parse } from 'yaml'
import { failing, startFront, startUpstream, streaming, whole } from '../helpers/fake-upstream.ts'
import { freePort } from '../helpers/free-port.ts'
import { collectOutput } from '../helpers/gateway-process.ts'
import { TOOL } from '../helpers/gw.ts'
import { gw } from '../helpers/gw-here.ts'
import { until } from '../helpers/until.ts'

const [one, two] = await Promise.all([startUpstream(), startUpstream()])
const probed = { health_check: { path: '/health', interval_seconds: 1, timeout_seconds: 1 } }
const front = await startFront({
  upstreams: [
    { name: 'one', endpoint: one.url, context_window: 8000 },
    { name: 'two', endpoint: two.url, context_window: 32_000, ...probed },
  ],
  routes: [
    { name: 'chat', strategy: 'primary_with_fallback', primary: 'one', fallback: ['two'] },
    { name: 'other', strategy: 'single', primary: 'two' },
  ],
  aliases: { 'gpt-4o': 'chat', 'claude-*': 'other' },
})
after(() => Promise.all([front.process.stop(), one.close(), two.close()]))
const { adminUrl } = front.process
const ask = (...args: readonly string[]) => gw(...args, '--admin', adminUrl)

/** Rows of a table, each as its cells. */
function cellsOf(text: string): string[][] {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => line.split(/ {2,}/))
}

test('gw models lists routes, aliases and patterns with strategy, window and upstreams', async () => {
  const { code, stdout, stderr } = await ask('models')
  assert.deepEqual([code, stderr], [0, ''])
  assert.match(stdout, /^NAME +KIND +ROUTE +STRATEGY +WINDOW +UPSTREAMS +ELIGIBLE$/m)
  assert.match(stdout, /^other +route +- +single +32,000 +two +yes$/m)
  assert.match(stdout, /^claude-\* +pattern +other +single +32,000 +two +yes$/m)
  const names = await ask('models', '-o', 'name')
  assert.equal(names.stdout, 'chat\nother\ngpt-4o\nclaude-*\n')
})

test('gw models returns the same as JSON, and marks the unavailable upstream', async () => {
  two.healthy = false
  const isOut = async () => {
    const { models } = JSON.parse((await ask('models', '-o', 'json')).stdout)
    return models.at(-1).upstreams[0].eligible === false
  }
  await until('the probes have failed', isOut)
  const { stdout } = await ask('models', '-o', 'yaml')
  assert.deepEqual(parse(stdout).models[2], {
    name: 'gpt-4o',
    kind: 'alias',
    route: 'chat',
    strategy: 'primary_with_fallback',
    context_window: 32_000,
    upstreams: [
      { name: 'one', eligible: true },
      { name: 'two', eligible: false },
    ],
  })
  const table = cellsOf((await ask('models')).stdout)
  assert.equal(table.find(([name]) => name === 'other')?.at(-1), 'no')
  two.healthy = true
  await until('the probes succeed', async () => !(await isOut()))
})

test('gw top shows rates of routes and tenants from requests that run meanwhile', async () => {
  const { promise: hold, resolve: release } = Promise.withResolvers<void>()
  two.script.push(streaming({ hold }))
  const held = front.ask({ model: 'other', stream: true })
  await until('a stream is open', async () => (await front.admin('/status')).streams_open === 1)
  one.reply = streaming()
  let isOver = false
  const going = (async () => {
    while (!isOver) {
      one.script.push(streaming(), failing(400))
      await front.ask({ stream: true }).over
      await front.ask({}).over
    }
  })()
  let json = await ask('top', '--interval', '200ms', '-o', 'json')
  await until('answers, errors and first tokens are in one interval', async () => {
    json = await ask('top', '--interval', '200ms', '-o', 'json')
    const [{ errors_per_second, ttft_p95_seconds }] = JSON.parse(json.stdout).routes
    return errors_per_second > 0 && ttft_p95_seconds > 0
  })
  const table = await ask('top', '--once', '--interval', '200ms')
  isOver = true
  await going
  release()
  await held.over
  one.script.length = 0
  one.reply = whole()
  assert.equal(json.code, 0, json.stderr)
  const { routes, tenants, gateways } = JSON.parse(json.stdout)
  assert.equal(gateways, 1)
  const [chat, other] = routes
  assert.deepEqual([chat.route, other.route, other.in_flight], ['chat', 'other', 1])
  assert.ok(chat.requests_per_second > chat.errors_per_second, json.stdout)
  assert.ok(chat.tokens_per_second > 0, json.stdout)
  assert.deepEqual([other.requests_per_second, other.ttft_p95_seconds], [0, undefined])
  const [acme] = tenants
  assert.ok(acme.tokens_per_second > 0 && acme.errors_per_second > 0, json.stdout)
  assert.match(
    table.stdout,
    /^ROUTE +REQUESTS\/S +ERRORS\/S +IN FLIGHT +TTFT P95 +TOKENS\/S\nchat /,
  )
  assert.match(table.stdout, /^other +0\.0 +0\.0 +1 +- +0$/m)
  assert.match(table.stdout, new RegExp(`^${acme.tenant} +\\d`, 'm'))
})

test('gw top on a terminal runs until Ctrl-C, and exits as other programs do', async () => {
  // The program from util-linux gives the tool a terminal, and returns its exit code.
  const command = `${process.execPath} ${TOOL} top --admin ${adminUrl} --interval 50ms`
  const terminal = spawn('script', ['--quiet', '--return', '--command', command, '/dev/null'])
  const output = collectOutput(terminal)
  const ended = once(terminal, 'close')
  await until('the third screen', () => output().split('\u001b[J').length > 3)
  terminal.stdin.write('\u0003')
  const [code] = await ended
  assert.equal(code, 130)
  assert.match(output(), /^chat +0\.0 +0\.0 +0 +- +0\r?$/m)
})

test('gw wait ends when the gateway is ready, even if the gateway starts later', async () => {
  const running = await ask('wait')
  assert.deepEqual([running.code, running.stdout], [0, `gateway at ${adminUrl} is ready\n`])
  const admin_port = await freePort()
  const admin = `http://127.0.0.1:${admin_port}`
  const late = await gw('wait', '--admin', admin, '--timeout', '1ms')
  assert.equal(late.code, 1)
  assert.match(late.stderr, /^error: Not within 0\.001 s: No gateway answers at /)
  const waiting = gw('wait', '--admin', admin)
  const upstreams = [{ name: 'one', endpoint: one.url }]
  const routes = [{ name: 'chat', strategy: 'single', primary: 'one' }]
  const second = await startFront({ gateway: { admin_port }, upstreams, routes })
  const { code, stdout, stderr } = await waiting
  await second.process.stop()
  assert.deepEqual([code, stdout], [0, `gateway at ${admin} is ready\n`], stderr)
})
