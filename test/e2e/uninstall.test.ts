/**
 * An uninstall while gateways serve: the gateways stay unchanged, and only the definitions of the
 * release remain.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { describe, startLoad } from './load.ts'
import { gateway, gatewayKey } from './objects.ts'
import { SPACE, SYSTEM } from './spaces.ts'
import { show } from './table.ts'
import { gatewayReady, openWorld, prepare, RELEASE, SECONDS_MAX, type World } from './world.ts'

const NAME = 'staying'
let world: World

before(async () => {
  world = await openWorld()
  await prepare(world)
})

/** Including definitions and therefore every gateway: the cluster is as before. */
after(async () => {
  await world.kubectl(['delete', 'crd', '-l', RELEASE, '--ignore-not-found', '--wait'])
  const namespaces = [SPACE, SYSTEM]
  await world.kubectl(['delete', 'namespace', ...namespaces, '--ignore-not-found', '--wait'])
})

test('after an uninstall gateways keep serving, and only the definitions stay', async () => {
  const { key, object } = gatewayKey(NAME, 'acme')
  await world.apply(gateway(NAME, { spec: { replicas: 2 } }), object)
  await gatewayReady(world, NAME)
  const url = `http://${NAME}.${SPACE}.svc`
  const load = await startLoad(world, 'staying-load', { url, key, rate: 50, streams: 10 })
  await load.reaches(200, SECONDS_MAX)
  await world.helm('uninstall', 'gw', '-n', SYSTEM, '--wait')
  await load.reaches((await load.report()).begun + 500, SECONDS_MAX)
  const report = await load.stop()
  assert.equal(report.lost + report.streams.cut + report.streams.refused, 0, describe(report))
  const left = await ofRelease()
  assert.ok(
    left.every((name) => name.startsWith('customresourcedefinition')),
    left.join('\n'),
  )
  assert.match(await world.kubectl(['-n', SPACE, 'get', 'gatewayconfig', '-o', 'name']), /staying/)
  assert.deepEqual(await besideTheRelease(), [])
  show(
    'uninstall',
    `${report.lost} of ${report.begun} lost; ${left.length} definitions stay, and nothing else`,
  )
})

/** The remaining objects in the operator's namespace, from any source. */
async function besideTheRelease(): Promise<string[]> {
  const get = ['get', 'secrets,configmaps,leases,deployments,pods', '-o', 'name']
  const names = (await world.kubectl(['-n', SYSTEM, ...get])).trim().split('\n')
  return names.filter((name) => name !== 'configmap/kube-root-ca.crt' && name !== '')
}

/** Every object with the labels of the release, of every kind that the cluster knows. */
async function ofRelease(): Promise<string[]> {
  const listed = async (namespaced: boolean) => {
    const ask = ['api-resources', '--verbs=list,delete', '-o', 'name', `--namespaced=${namespaced}`]
    const kinds = (await world.kubectl(ask)).trim().split('\n')
    const known = kinds.filter((kind) => !kind.startsWith('events')).join(',')
    const all = namespaced ? ['-A'] : []
    const get = ['get', known, ...all, '-l', RELEASE, '-o', 'name', '--ignore-not-found']
    return (await world.kubectl(get)).trim().split('\n')
  }
  const names = [...(await listed(true)), ...(await listed(false))]
  return names.filter((name) => name !== '')
}
