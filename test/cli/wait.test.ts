/** `gw wait` in a cluster, with an API server that returns one GatewayConfig unchanged. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, beforeEach, test } from 'node:test'
import { CONDITIONS } from '../../crds/conditions.ts'
import { gw } from '../helpers/gw-here.ts'
import { aGateway } from '../helpers/kubernetes/a-gateway.ts'

/** The statuses of Programmed that come one after the other; the last one stays. */
let script: string[] = []
let asked = 0
let observedGeneration = 3
let type = 'Programmed'
let isSilent = false

const server = createServer((incoming, outgoing) => {
  asked++
  if (isSilent) return
  const status = script.length > 1 ? script.shift() : script[0]
  const isThere =
    status !== undefined && incoming.url?.endsWith('/namespaces/ai/gatewayconfigs/production')
  outgoing.writeHead(isThere ? 200 : 404, { 'content-type': 'application/json' })
  const kind = { type, lastTransitionTime: '2026-01-01T00:00:00Z' }
  const why = { reason: 'Rolling', message: '1 of 2 pods enforce it.' }
  const conditions = [{ ...kind, ...why, status, observedGeneration }]
  const missing = { kind: 'Status', code: 404, message: 'gatewayconfigs "production" not found' }
  const found = { ...aGateway(), status: { conditions } }
  outgoing.end(JSON.stringify(isThere ? found : missing))
}).listen(0, '127.0.0.1')
await once(server, 'listening')
const folder = await mkdtemp(join(tmpdir(), 'gw-test-'))
const kubeconfig = join(folder, 'config')
// A server that listens on a port has an address of this kind.
const { port } = server.address() as AddressInfo
await writeFile(
  kubeconfig,
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'one',
    contexts: [{ name: 'one', context: { cluster: 'c', user: 'u', namespace: 'ai' } }],
    clusters: [{ name: 'c', cluster: { server: `http://127.0.0.1:${port}` } }],
    users: [{ name: 'u', user: { token: 't' } }],
  }),
)
after(async () => {
  server.close()
  server.closeAllConnections()
  await rm(folder, { recursive: true })
})
beforeEach(() => {
  script = []
  asked = 0
  observedGeneration = 3
  type = 'Programmed'
  isSilent = false
})

const at = ['gwc/production', '--kubeconfig', kubeconfig]
const wait = (...args: readonly string[]) =>
  gw('wait', '--for=condition=Programmed', '--kubeconfig', kubeconfig, ...args)

test('gw wait ends with 0 once the condition is true', async () => {
  script = ['Unknown', 'False', 'True']
  const { code, stdout, stderr } = await wait('gwc/production')
  assert.equal(stdout, 'gatewayconfig.inference.gw/production condition Programmed met\n')
  assert.deepEqual([code, stderr, asked], [0, '', 3])
})

test('gw wait ends with 1 at its timeout, with the last reason', async () => {
  script = ['False']
  const { code, stderr } = await wait('gwc/production', '--timeout', '1ms')
  assert.equal(code, 1)
  assert.match(
    stderr,
    /^error: Not within 0.001 s: .* is False, Rolling: 1 of 2 pods enforce it\.$/m,
  )
})

test('a condition of an older generation does not count', async () => {
  script = ['True']
  observedGeneration = 2
  const { code, stderr } = await wait('gwc/production', '--timeout', '1ms')
  assert.equal(code, 1)
  assert.match(stderr, /the operator has not processed generation 3/)
})

test('the command waits for a gateway that does not exist yet', async () => {
  const { code, stderr } = await wait('gwc/production', '--timeout', '1ms')
  assert.equal(code, 1)
  assert.match(stderr, /Not within 0.001 s: There is no GatewayConfig "production"/)
})

test('an API server that does not answer holds up no timeout', async () => {
  isSilent = true
  const { code, stderr } = await wait('gwc/production', '--timeout', '1ms')
  assert.deepEqual([code, stderr], [1, 'error: Not within 0.001 s: no gateway has answered yet\n'])
})

test('every condition can be waited for, also to be False', async () => {
  for (const name of Object.keys(CONDITIONS)) {
    type = name
    script = ['False', 'True']
    const found = await gw('wait', `--for=condition=${name}`, ...at)
    assert.deepEqual([found.code, /condition \w+ met/.test(found.stdout)], [0, true], name)
  }
  type = 'Degraded'
  script = ['False']
  const { code, stdout } = await gw('wait', '--for=condition=Degraded=False', ...at)
  assert.equal(code, 0)
  assert.equal(stdout, 'gatewayconfig.inference.gw/production condition Degraded=False met\n')
})

test('what cannot be waited for is wrong usage', async () => {
  for (const args of [
    ['pod/production'],
    ['gwc/production', '--gateway', 'other'],
    ['gwc/production', '--for=condition=Nice'],
    ['gwc/production', '--for=condition=Ready=yes'],
    ['gwc/production', '--for=Nice'],
    ['gwc/production', '--admin', '1'],
  ]) {
    assert.equal((await wait(...args)).code, 64, args.join(' '))
  }
  assert.equal((await gw('wait', '--for=condition=Accepted', '--admin', '1')).code, 64)
})
