/**
 * An upgrade from an earlier chart and its definitions to the current release, while gateways
 * serve.
 */
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { describe, startLoad } from './load.ts'
import { gateway, gatewayKey } from './objects.ts'
import { SPACE, SYSTEM } from './spaces.ts'
import { show } from './table.ts'
import {
  ensureInstalled,
  ensureSpace,
  gatewayReady,
  imageValues,
  openWorld,
  RELEASE,
  rolledOut,
  SECONDS_MAX,
  startModels,
  type World,
} from './world.ts'

const NAME = 'upgraded'
const FORMER = join(import.meta.dirname, 'former')
const [CHART = ''] = readdirSync(FORMER).filter((file) => file.endsWith('.tgz'))
/**
 * Built from the same commit; absent without the history: then the current image runs under the
 * earlier chart.
 */
const { E2E_FORMER_IMAGE: FORMER_IMAGE } = process.env
/**
 * The objects that the operator of a former release created for itself: no later release removes
 * them.
 */
const OWN = ['secret/gw-operator-signing', 'lease/gw-operator']
let world: World

before(async () => {
  world = await openWorld()
  await removeRelease()
})

after(removeRelease)

/** Including its definitions, and therefore every gateway. */
async function removeRelease(): Promise<void> {
  await world.helm('uninstall', 'gw', '-n', SYSTEM, '--ignore-not-found', '--wait')
  await world.kubectl(['-n', SYSTEM, 'delete', ...OWN, '--ignore-not-found'])
  await world.kubectl(['delete', 'crd', '-l', RELEASE, '--ignore-not-found', '--wait'])
}

test('an earlier chart is upgraded, and no request fails', async () => {
  await ensureSpace(world)
  await world.helm(
    ...['install', 'gw', join(FORMER, CHART), '-n', SYSTEM, '--create-namespace', '--wait'],
    ...['--timeout', `${SECONDS_MAX}s`, ...imageValues(FORMER_IMAGE ?? world.image)],
  )
  await startModels(world)
  const former = await chartsOfDefinitions()
  const { key, object } = gatewayKey(NAME, 'acme')
  await world.apply(gateway(NAME, { spec: { replicas: 2 } }), object)
  await gatewayReady(world, NAME)
  const url = `http://${NAME}.${SPACE}.svc`
  const load = await startLoad(world, 'upgraded-load', { url, key, rate: 50, streams: 10 })
  await load.reaches(200, SECONDS_MAX)
  await ensureInstalled(world)
  await rolledOut(world, 'deployment', 'gw', SYSTEM)
  // The current operator writes it, with the current rights.
  const podAnnotations = { 'example.com/release': 'today' }
  await world.apply(gateway(NAME, { spec: { replicas: 2, podAnnotations } }))
  await rolledOut(world, 'deployment', NAME)
  await gatewayReady(world, NAME)
  await load.reaches((await load.report()).begun + 500, SECONDS_MAX)
  const report = await load.stop()
  assert.equal(report.lost + report.streams.cut + report.streams.refused, 0, describe(report))
  const [release] = JSON.parse(await world.helm('list', '-n', SYSTEM, '-o', 'json'))
  const present = await chartsOfDefinitions()
  assert.deepEqual(present, [release.chart])
  assert.deepEqual(former, [CHART.replace('.tgz', '')])
  assert.notDeepEqual(present, former)
  const image = (await world.read('deployment', NAME)).spec
  assert.match(JSON.stringify(image), new RegExp(`"image":"${world.image}"`))
  const lost = `${report.lost} of ${report.begun} lost`
  show(
    'upgrade',
    `${lost} from ${former} to ${present}, definitions, operators and ${FORMER_IMAGE ? 'pods' : 'no image'} replaced`,
  )
})

/** The charts that the definitions name, each once. */
async function chartsOfDefinitions(): Promise<string[]> {
  const get = ['get', 'crd', '-l', RELEASE, '-o', 'json']
  const { items } = JSON.parse(await world.kubectl(get))
  const charts = items.map(
    ({ metadata }: { metadata: { labels: Record<string, string> } }) =>
      metadata.labels['helm.sh/chart'] ?? 'none',
  )
  return [...new Set<string>(charts)]
}
