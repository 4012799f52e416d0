/**
 * A gateway behind a real nginx, with nginx's defaults and with the settings that `gw expose`
 * prints. Timeouts are shortened; with GW_LONG=1 they are nginx's defaults, and a stream takes ten
 * minutes.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, connect as dial } from 'node:net'
import { after, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import {
  errorOf,
  Front,
  startFront,
  startUpstream,
  streaming,
  after as when,
  whole,
  wordsOf,
} from '../helpers/fake-upstream.ts'
import { nginxRecipe, startNginx } from '../helpers/nginx.ts'
import { until } from '../helpers/until.ts'

const IS_LONG = process.env.GW_LONG === '1'
/**
 * Timeouts: of nginx between two reads, of the gateway between two heartbeats, and the model's
 * silence.
 */
const READ_SECONDS = IS_LONG ? 60 : 4
const BEAT_SECONDS = IS_LONG ? 15 : 1
const SILENCE_SECONDS = IS_LONG ? 600 : 7
/** How long nginx and the gateway keep an idle connection. */
const KEPT_SECONDS = IS_LONG ? 75 : 2
const GATEWAY_KEEPS_SECONDS = IS_LONG ? 3700 : 5
const CALLERS = IS_LONG ? 1000 : 40
const CALLS = IS_LONG ? 10 : 4

const model = await startUpstream()
const gatewayOf = (gateway: object) =>
  startFront({
    gateway: {
      ...{ request_timeout_seconds: 3600, keepalive_seconds: GATEWAY_KEEPS_SECONDS },
      ...gateway,
    },
    upstreams: [{ name: 'model', endpoint: model.url, idle_timeout_seconds: 3600 }],
    routes: [{ name: 'chat', strategy: 'single', primary: 'model' }],
  })
const beating = await gatewayOf({ sse: { heartbeat_seconds: BEAT_SECONDS } })
const mute = await gatewayOf({ sse: { heartbeat_seconds: 3600 } })
const bounded = await gatewayOf({
  ...{ load_balancer_idle_seconds: READ_SECONDS - 1, sse: { heartbeat_seconds: BEAT_SECONDS } },
})

const recipe = await nginxRecipe()
const plain = { proxy_read_timeout: `${READ_SECONDS}s` }
const nginx = await startNginx([
  { to: beating.process.url, settings: plain },
  { to: mute.process.url, settings: plain },
  { to: mute.process.url, settings: recipe },
  { to: bounded.process.url, settings: plain },
  { to: beating.process.url, settings: recipe, keptFor: `${KEPT_SECONDS}s` },
])
after(async () => {
  await nginx.stop()
  await Promise.all([beating, mute, bounded].map((front) => front.process.stop()))
  await model.close()
})

const behind = (front: Front, url: string | undefined) =>
  new Front({ ...front.process, url: url ?? '' }, front.key)
const [first, second, third, fourth, fifth] = nginx.urls
const fronts = {
  beatingPlain: behind(beating, first),
  mutePlain: behind(mute, second),
  muteRecipe: behind(mute, third),
  boundedPlain: behind(bounded, fourth),
  keptRecipe: behind(beating, fifth),
}

test('a stream arrives event by event, and heartbeats keep it open during silence', async () => {
  const spoken = Promise.withResolvers<void>()
  model.reply = streaming({ hold: spoken.promise })
  const { beatingPlain, mutePlain, muteRecipe } = fronts
  const lasting = [beatingPlain, muteRecipe].map((front) => front.ask({ stream: true }))
  const doomed = mutePlain.ask({ stream: true })
  // The upstream has not sent the second word yet: nginx buffers nothing.
  const all = [...lasting, doomed]
  await until('all clients have received the first word', () =>
    all.every((one) => one.text().includes('hel')),
  )
  const cut = await doomed.over
  assert.ok(cut.cut, 'without heartbeats and without the recipe nginx ends a silent stream')
  const beats = () => lasting[0]?.text().split(': keepalive').length ?? 0
  const enough = SILENCE_SECONDS / BEAT_SECONDS
  await until('the silence has lasted', () => beats() >= enough, 3 * SILENCE_SECONDS)
  spoken.resolve()
  for (const one of lasting) assert.equal(wordsOf(await one.over), 'hello')
  assert.match(lasting[0]?.text() ?? '', /: keepalive/)
})

test('a silent answer that is not a stream needs the recipe, or the gateway refuses it in time', async () => {
  const spoken = Promise.withResolvers<void>()
  model.reply = when(spoken.promise, whole())
  const { mutePlain, muteRecipe, boundedPlain } = fronts
  const lasting = muteRecipe.ask()
  const [cut, refused] = await Promise.all([mutePlain.chat(), boundedPlain.chat()])
  assert.equal(cut.status, 504)
  assert.match(cut.text, /<html>/)
  assert.equal(refused.status, 504)
  assert.equal(errorOf(refused).code, 'ERR_GW_PROXY_TIMEOUT')
  spoken.resolve()
  assert.equal((await lasting.over).status, 200)
})

test('nginx refuses a body of 2 MiB by default, and accepts it with the recipe', async () => {
  model.reply = whole()
  const messages = [{ role: 'user', content: 'a'.repeat(2 * 1024 * 1024) }]
  const refused = await fronts.mutePlain.chat({ messages })
  assert.deepEqual([refused.status, /<html>/.test(refused.text)], [413, true])
  assert.equal((await fronts.muteRecipe.chat({ messages })).status, 200)
})

test('no request fails on a connection that nginx reuses at the last moment', async () => {
  model.reply = whole()
  const heard = new Map<number, number>()
  let seed = 1
  const caller = async () => {
    for (let count = 0; count < CALLS; count++) {
      const { status } = await fronts.keptRecipe.chat()
      heard.set(status, (heard.get(status) ?? 0) + 1)
      seed = (seed * 48_271) % 2_147_483_647
      // Around the moment at which nginx closes the connection.
      await delay((0.95 + (seed % 100) / 1000) * KEPT_SECONDS * 1000)
    }
  }
  await Promise.all(Array.from({ length: CALLERS }, caller))
  assert.deepEqual([...heard], [[200, CALLERS * CALLS]])
})

test('a total timeout in nginx stops the upstream at once, and the request is charged once', async () => {
  const relay = createServer((client) => {
    const { hostname, port } = new URL(mute.process.url)
    const gateway = dial(Number(port), hostname)
    client.pipe(gateway).pipe(client)
    const cut = () => {
      client.destroy()
      gateway.destroy()
    }
    for (const socket of [client, gateway]) socket.on('error', cut)
    setTimeout(cut, 1500)
  })
  relay.listen(0, '127.0.0.1')
  await once(relay, 'listening')
  const { port } = relay.address() as { port: number }
  model.reply = streaming({ hold: new Promise(() => {}) })
  const { abandoned } = model
  const before = model.asked.length
  const heard = await behind(mute, `http://127.0.0.1:${port}`).stream()
  assert.ok(heard.cut)
  await until('the upstream request is aborted', () => model.abandoned === abandoned + 1)
  relay.close()
  assert.equal(model.asked.length, before + 1)
  const trace = await mute.trace(heard)
  assert.deepEqual([trace.status, trace.attempts.length, trace.usage_estimated], [499, 1, true])
  const { usage } = trace.attempts[0]
  assert.deepEqual([usage.estimated, usage.output_tokens > 0], [true, true])
})
