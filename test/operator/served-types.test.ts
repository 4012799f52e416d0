/**
 * An operator older than the resource types does not lead, and reports why; missing rights do not
 * stop it.
 */
import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { Registry } from 'prom-client'
import { serveHealth } from '../../operator/health.ts'
import { ApiError } from '../../operator/kube/api-error.ts'
import { ServedTypes } from '../../operator/served-types.ts'
import { until } from '../helpers/until.ts'

const OF_GATEWAYS = 'gatewayconfigs.inference.gw'
const OF_POLICIES = 'tenantpolicies.inference.gw'

function aCluster(version: string) {
  const annotations: Record<string, Record<string, string>> = {}
  const faults: Error[] = []
  const lines: string[] = []
  const types = new ServedTypes({
    api: {
      get: async (_resource, { name = '' }) => {
        const fault = faults[0]
        if (fault !== undefined) throw fault
        const found = annotations[name]
        return found && { metadata: { name, annotations: found } }
      },
    },
    version,
    log: { event: (level, event, message) => lines.push(`${level} ${event} ${message}`) },
    lookMs: 1,
  })
  const serve = (name: string, release: string, more = {}) => {
    annotations[name] = { 'inference.gw/bundle-version': release, ...more }
  }
  return { types, serve, faults, lines }
}

test('an operator as old as the types, or newer, leads at once', async () => {
  for (const release of ['1.5.0', '1.4.9', '0.9.10', '1.5.0-rc.1', 'test']) {
    const { types, serve, lines } = aCluster('1.5.0')
    serve(OF_GATEWAYS, release)
    assert.equal(await types.fit(), true, release)
    assert.deepEqual([types.fault, lines], [undefined, []], release)
  }
})

test('an operator older than one of the types does not lead, reports it once, and leads after the types fit', async () => {
  const { types, serve, lines } = aCluster('1.5.0')
  serve(OF_GATEWAYS, '1.5.0')
  serve(OF_POLICIES, '1.5.1')
  let mayLead = false
  const fitting = types.fit().then((fits) => (mayLead = fits))
  await until('it has looked', () => types.fault !== undefined)
  assert.match(types.fault ?? '', /tenantpolicies\S+ is of release 1\.5\.1, .* operator of 1\.5\.0/)
  assert.match(types.fault ?? '', /helm upgrade.*allow-downgrade=1\.5\.0/)
  serve(OF_POLICIES, '10.0.0')
  await until('it has checked again', () => /of release 10\.0\.0/.test(types.fault ?? ''))
  assert.equal(mayLead, false)
  assert.deepEqual(
    lines.map((line) => line.split(' ').slice(0, 2)),
    [
      ['error', 'types'],
      ['error', 'types'],
    ],
  )
  serve(OF_POLICIES, '1.5.0')
  await fitting
  assert.deepEqual([mayLead, types.fault], [true, undefined])
})

test('an annotation allows the downgrade to the version that it names', async () => {
  for (const other of ['true', '1.4.0', '1.5.1', '']) {
    const { types, serve } = aCluster('1.5.0')
    serve(OF_GATEWAYS, '1.6.0', { 'inference.gw/allow-downgrade': other })
    const fitting = types.fit()
    await until('it has looked', () => types.fault !== undefined)
    types.stop()
    assert.equal(await fitting, false, other)
  }
  const { types, serve } = aCluster('1.5.0')
  serve(OF_GATEWAYS, '1.6.0', { 'inference.gw/allow-downgrade': '1.5.0' })
  assert.equal(await types.fit(), true)
})

test('an operator without the right to read the types leads; if the API server does not answer, it asks again', async () => {
  const { types, faults, lines } = aCluster('1.5.0')
  faults.push(new Error('connection refused'))
  let mayLead = false
  const fitting = types.fit().then((fits) => (mayLead = fits))
  await until('it has asked again', () => lines.length > 1)
  assert.equal(mayLead, false)
  faults[0] = new ApiError('forbidden', { status: 403, reason: 'Forbidden' })
  await fitting
  assert.equal(mayLead, true)
  assert.match(lines.at(-1) ?? '', /^warn types .*forbidden/)
})

test('/readyz reports why an operator does not lead, and /healthz keeps it running', async () => {
  const fault = 'The type is of release 1.6.0, and this operator of 1.5.0.'
  const health = await serveHealth(
    { isAlive: () => true, unready: () => fault, registry: new Registry() },
    { port: 0, host: '127.0.0.1' },
  )
  // A server that listens on an address and port has both.
  const { port } = health.address() as AddressInfo
  const asked = async (path: string) => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`)
    return [answer.status, await answer.text()]
  }
  assert.deepEqual(await asked('/readyz'), [503, `${fault}\n`])
  assert.deepEqual(await asked('/healthz'), [200, 'ok\n'])
  health.closeAllConnections()
  health.close()
})
