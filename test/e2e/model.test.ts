/** A real model server in a pod, behind the gateway. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { SCRIPTED_TEXT } from '../helpers/model/model-server.ts'
import { gateway, gatewayKey, server } from './objects.ts'
import { streamBySdk } from './sdk.ts'
import { SPACE } from './spaces.ts'
import { show } from './table.ts'
import { gatewayReady, openWorld, prepare, rolledOut, type World } from './world.ts'

const NAME = 'real'
let world: World

before(async () => {
  world = await openWorld()
  await prepare(world)
})

after(async () => {
  await world.kubectl(['-n', SPACE, 'delete', 'gatewayconfig', NAME, '--ignore-not-found'])
  await world.kubectl(['-n', SPACE, 'delete', 'deployment,service', 'llama', '--ignore-not-found'])
})

test("the official SDK gets llama-server's words one by one, through the gateway", async () => {
  const image = process.env.E2E_MODEL_IMAGE
  if (image === undefined) return show('model', 'E2E_MODEL_IMAGE names no llama-server image')
  await world.apply(...server('llama', { image }))
  await rolledOut(world, 'deployment', 'llama')
  const { key, object } = gatewayKey(NAME, 'acme')
  const upstream = {
    name: 'llama',
    provider: 'llamacpp',
    endpoint: 'http://llama:9000',
    model: 'tiny',
    context_window: 4096,
  }
  const routes = [{ name: 'chat', strategy: 'single', primary: 'llama' }]
  await world.apply(gateway(NAME, { gw: { upstreams: [upstream], routes } }), object)
  await gatewayReady(world, NAME)
  const baseUrl = `http://${NAME}.${SPACE}.svc/v1`
  const answer = await streamBySdk(world, { baseUrl, key, model: 'chat', content: 'hello' })
  assert.equal(answer.text, SCRIPTED_TEXT)
  assert.ok(answer.pieces > 10, String(answer.pieces))
  show('model', `its ${answer.pieces} pieces, every word unchanged`)
})
