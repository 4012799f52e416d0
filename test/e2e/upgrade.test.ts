/** A release of the chart follows another one while gateways serve. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { startLoad, told } from './load.ts'
import { gateway, gatewayKey } from './objects.ts'
import { SPACE, SYSTEM } from './spaces.ts'
import { show } from './table.ts'
import {
  ensureInstalled,
  gatewayReady,
  imageValues,
  openWorld,
  prepare,
  SECONDS_MAX,
  type World,
} from './world.ts'

const NAME = 'upgraded'
let world: World
let folder: string

before(async () => {
  world = await openWorld()
  folder = await mkdtemp(join(tmpdir(), 'gw-chart-'))
})

after(async () => {
  await rm(folder, { recursive: true, force: true })
  await world.kubectl(['-n', SPACE, 'delete', 'gatewayconfig', NAME, '--ignore-not-found'])
})

test('a chart of a lower version is upgraded without a lost request', async () => {
  await prepare(world)
  await world.helm('package', 'charts/gw', '--version', '0.0.1', '-d', folder)
  await world.helm(
    ...['upgrade', 'gw', join(folder, 'gw-0.0.1.tgz'), '-n', SYSTEM, '--wait'],
    ...['--timeout', `${SECONDS_MAX}s`, '--reset-values', ...imageValues(world.image)],
    ...['--set', 'podAnnotations.example\\.com/release=former'],
  )
  const { key, object } = gatewayKey(NAME, 'acme')
  await world.apply(gateway(NAME, { spec: { replicas: 2 } }), object)
  await gatewayReady(world, NAME)
  const url = `http://${NAME}.${SPACE}.svc`
  const load = await startLoad(world, 'upgraded-load', { url, key, rate: 50, streams: 10 })
  await load.reaches(200, SECONDS_MAX)
  await ensureInstalled(world)
  await gatewayReady(world, NAME)
  await load.reaches((await load.report()).begun + 500, SECONDS_MAX)
  const report = await load.stop()
  assert.equal(report.lost + report.streams.cut + report.streams.refused, 0, told(report))
  const releases = JSON.parse(await world.helm('list', '-n', SYSTEM, '-o', 'json'))
  assert.equal(releases.length, 1)
  assert.doesNotMatch(releases[0].chart, /0\.0\.1/)
  show('upgrade', `${report.lost} of ${report.begun} lost, operators replaced`)
})
