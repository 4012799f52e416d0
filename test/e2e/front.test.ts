/**
 * nginx on the node, in front of two gateways' Services: with defaults, and with the settings that
 * `gw expose` prints. Its timeout is shortened; with GW_LONG=1 it is nginx's default, and the model
 * is silent for ten minutes.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { wordsOf } from '../helpers/fake-upstream.ts'
import { type Nginx, nginxRecipe, startNginx } from '../helpers/nginx.ts'
import { askSilent, startSilentGateway, startSilentModel, stopSilentModel } from './silence.ts'
import { SPACE } from './spaces.ts'
import { show } from './table.ts'
import { openWorld, prepare, type World } from './world.ts'

const IS_LONG = process.env.GW_LONG === '1'
/**
 * Timeouts: of nginx between two reads, of the gateway between two heartbeats, and the model's
 * silence.
 */
const READ_SECONDS = IS_LONG ? 60 : 5
const BEAT_SECONDS = IS_LONG ? 15 : 1
const SILENCE_SECONDS = IS_LONG ? 600 : 15
let world: World
let nginx: Nginx | undefined

before(async () => {
  world = await openWorld()
  if (!world.isOurNode) return
  await prepare(world)
  await startSilentModel(world)
})

after(async () => {
  await nginx?.stop()
  const gateways = ['gatewayconfig', 'beating', 'mute', '--ignore-not-found']
  await world.kubectl(['-n', SPACE, 'delete', ...gateways])
  await stopSilentModel(world)
})

test("an answer silent for longer than nginx's timeout needs heartbeats or the recipe", async () => {
  if (!world.isOurNode) return show('front', 'shown only if the node is this machine')
  const [beating, mute] = await Promise.all([
    startSilentGateway(world, 'beating', { heartbeatSeconds: BEAT_SECONDS }),
    startSilentGateway(world, 'mute', {}),
  ])
  const recipe = await nginxRecipe()
  // Its own default is 60 s.
  const plain = IS_LONG ? {} : { proxy_read_timeout: `${READ_SECONDS}s` }
  nginx = await startNginx([
    { to: beating.origin, settings: plain },
    { to: mute.origin, settings: plain },
    { to: mute.origin, settings: recipe },
  ])
  const [beatingPlain = '', mutePlain = '', muteRecipe = ''] = nginx.urls
  const began = performance.now()
  const [withBeats, withRecipe, withNeither, whole, refused] = await Promise.all(
    [
      askSilent({ ...beating, origin: beatingPlain }, SILENCE_SECONDS, true),
      askSilent({ ...mute, origin: muteRecipe }, SILENCE_SECONDS, true),
      askSilent({ ...mute, origin: mutePlain }, SILENCE_SECONDS, true),
      askSilent({ ...mute, origin: muteRecipe }, SILENCE_SECONDS, false),
      askSilent({ ...mute, origin: mutePlain }, SILENCE_SECONDS, false),
    ].map(({ over }) => over),
  )
  const seconds = ((performance.now() - began) / 1000).toFixed(0)
  assert.ok(withBeats && withRecipe && withNeither && whole && refused)
  for (const stream of [withBeats, withRecipe]) assert.equal(wordsOf(stream), 'hello')
  assert.match(withBeats.text, /: keepalive/)
  assert.doesNotMatch(withRecipe.text, /: keepalive/)
  assert.ok(withNeither.cut, withNeither.text)
  assert.deepEqual([whole.status, whole.cut], [200, false], whole.text)
  assert.deepEqual([refused.status, /<html>/.test(refused.text)], [504, true])
  show(
    'front',
    `${SILENCE_SECONDS} s of silence, a timeout of ${READ_SECONDS} s: 3 whole after ${seconds} s, 2 cut`,
  )
})
