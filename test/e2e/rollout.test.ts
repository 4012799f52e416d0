/** Pods are replaced while requests and streams run, and no client notices. */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { describe, startLoad } from './load.ts'
import { gateway, gatewayKey } from './objects.ts'
import { SPACE } from './spaces.ts'
import { show } from './table.ts'
import { gatewayReady, openWorld, prepare, rolledOut, type World } from './world.ts'

const NAME = 'rolling'
const REPLICAS = 3
const RATE = 200
const STREAMS = 100
const REQUESTS = 20_000
/** Longer than a stream takes, so that none may be cut. */
const DRAIN_SECONDS = 60
let world: World

before(async () => {
  world = await openWorld()
  await prepare(world)
})

test('a rolling update under load fails no request and cuts no stream', async () => {
  const { key, object } = gatewayKey(NAME, 'acme')
  const spec = { replicas: REPLICAS, drainTimeoutSeconds: DRAIN_SECONDS }
  await world.apply(gateway(NAME, { spec }), object)
  await gatewayReady(world, NAME)
  const load = await startLoad(world, 'rolling-load', {
    url: `http://${NAME}.${SPACE}.svc`,
    key,
    rate: RATE,
    streams: STREAMS,
  })
  const quiet = await load.reaches(REQUESTS / 5, 300)
  assert.equal(quiet.lost + quiet.streams.cut + quiet.streams.refused, 0, describe(quiet))
  const podsBefore = await podsOf()
  const podAnnotations = { 'example.com/rolled': 'once' }
  await world.apply(gateway(NAME, { spec: { ...spec, podAnnotations } }))
  await podsReplaced(podsBefore)
  await gatewayReady(world, NAME)
  await load.reaches(REQUESTS, 600)
  const report = await load.stop()
  assert.ok(report.begun >= REQUESTS)
  assert.equal(report.lost, 0, describe(report))
  assert.equal(report.streams.cut + report.streams.refused, 0, describe(report))
  assert.ok(report.streams.longest < DRAIN_SECONDS, describe(report))
  const { streams, milliseconds } = report
  show(
    'rollout',
    `${report.lost} of ${report.begun} lost, ${streams.cut} of ${streams.opened} streams cut ` +
      `(longest ${streams.longest.toFixed(0)} s), p99 ${milliseconds.p99} ms`,
  )
  await world.kubectl(['-n', SPACE, 'delete', 'gatewayconfig', NAME, '--wait'])
})

async function podsOf(): Promise<string[]> {
  const selector = ['-l', `inference.gw/gateway=${NAME}`, '-o', 'name']
  return (await world.kubectl(['-n', SPACE, 'get', 'pods', ...selector])).trim().split('\n')
}

/** The Deployment has only new pods, and the previous ones have drained and ended. */
async function podsReplaced(pods: readonly string[]): Promise<void> {
  await world.kubectl(['-n', SPACE, 'wait', '--for=delete', ...pods, '--timeout=600s'])
  await rolledOut(world, 'deployment', NAME)
}
