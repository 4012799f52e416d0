/** A configuration is activated as a whole or not at all, and the status reports it. */
import assert from 'node:assert/strict'
import { resolve } from 'node:path'
import { after, test } from 'node:test'
import { Activation } from '../../../dataplane/gateway/activation.ts'
import type { Targets } from '../../../dataplane/upstream/live/targets.ts'
import { assemble } from '../assembled-gateway.ts'
import { load } from '../request/stages/snapshots.ts'

type Fields = Readonly<Record<string, unknown>>

const open: Targets[] = []
after(() => Promise.all(open.map((targets) => targets.close())))

/** A process that was started with these sections. */
function started(gw: Fields = {}) {
  const assembled = assemble(gw)
  open.push(assembled.targets)
  const activation = new Activation(assembled.gateway, assembled.targets, load(gw))
  return { ...assembled, activation }
}

const upstreams = ['up', 'other'].map((name) => ({
  name,
  provider: 'openai',
  endpoint: 'http://127.0.0.1:1',
  model: 'm',
}))
const routes = [{ name: 'code', strategy: 'single', primary: 'other' }]

test('the configuration of the start is active, from its file', () => {
  const { activation, clock } = started()
  assert.equal(activation.file, resolve('test.yaml'))
  assert.equal(activation.isReadOnly, false)
  assert.deepEqual(activation.waitsForStart, [])
  const at = new Date(clock.wall()).toISOString()
  assert.deepEqual(activation.last, { result: 'success', at, errors: [] })
})

test('a good configuration replaces snapshot and lanes in one step, and the log and the metrics report it', () => {
  const { activation, gateway, clock, lines } = started()
  const before = gateway.active
  clock.pass(5000)
  assert.equal(
    activation.replace(() => load({ upstreams, routes })),
    true,
  )
  assert.notEqual(gateway.active, before)
  assert.deepEqual([...before.lanes.keys()], ['chat', 'batch'])
  assert.deepEqual([...gateway.active.snapshot.routes.keys()], ['code'])
  assert.deepEqual([...gateway.active.lanes.keys()], ['code'])
  assert.equal(activation.last.at, new Date(clock.wall()).toISOString())
  assert.equal(gateway.metrics.reloads.at('success').value, 1)
  assert.equal(gateway.metrics.reloadedAt.at().value, clock.wall() / 1000)
  assert.equal(lines.at(-1)?.hash, gateway.active.snapshot.hash)
})

test('counters with few label values exist before their first event, also those of a new upstream', () => {
  const { activation, gateway } = started()
  const { metrics } = gateway
  const values = (key: 'reloads' | 'attempts' | 'alertsDropped' | 'retries') =>
    [...metrics[key].entries()].map(([labels, { value }]) => [...Object.values(labels), value])
  const both = [
    ['success', 0],
    ['failure', 0],
  ]
  assert.deepEqual(values('reloads'), both)
  assert.deepEqual(values('alertsDropped'), [
    ['queue_full', 0],
    ['undelivered', 0],
  ])
  assert.ok(values('attempts').some(([name, outcome]) => name === 'up' && outcome === 'timeout'))
  assert.deepEqual(values('retries'), [['up', 0]])
  activation.replace(() => load({ upstreams, routes }))
  assert.deepEqual(values('retries'), [
    ['up', 0],
    ['other', 0],
  ])
})

test('a bad configuration changes nothing, and the status has its problems', () => {
  const { activation, gateway, lines } = started()
  const before = gateway.active
  const broken = () => load({ routes: [{ name: 'chat', strategy: 'single', primary: 'ghost' }] })
  assert.equal(activation.replace(broken), false)
  assert.equal(gateway.active, before)
  assert.equal(activation.last.result, 'failure')
  assert.match(activation.last.errors.join(), /ghost/)
  assert.equal(gateway.metrics.reloads.at('failure').value, 1)
  assert.equal(lines.at(-1)?.result, 'failure')
})

test('a file that cannot be read is a failure like any other', () => {
  const { activation, gateway } = started()
  const before = gateway.active
  const unreadable = () => {
    throw new Error('There is no such file.')
  }
  assert.equal(activation.replace(unreadable), false)
  assert.equal(gateway.active, before)
  assert.deepEqual(activation.last.errors, ['There is no such file.'])
})

test('a setting that is bound once waits for the next start until it is restored', () => {
  const { activation, lines } = started()
  const changed = { gateway: { listen_port: 1234, sse: { heartbeat_seconds: 3 } } }
  activation.replace(() => load({ ...changed, state_dir: '/var/lib/gw' }))
  assert.deepEqual(activation.waitsForStart, [
    'gw.gateway.listen_port',
    'gw.rate_limits.backend, .redis or state_dir',
  ])
  const warnings = lines.filter(({ level }) => level === 'warn').map(({ message }) => message)
  assert.match(String(warnings[0]), /gw\.gateway\.listen_port takes effect at the next start/)
  activation.replace(() => load({}))
  assert.deepEqual(activation.waitsForStart, [])
})

test('series of removed routes and upstreams are removed, those of no route are kept', () => {
  const { activation, gateway } = started({ upstreams, routes })
  const { requests } = gateway.metrics
  requests.at('code', 'other', '200').value++
  requests.at('code', 'up', '200').value++
  requests.at('none', 'none', '401').value++
  const kept = [{ ...upstreams[0] }]
  const fresh = [{ name: 'code', strategy: 'single', primary: 'up' }]
  activation.replace(() => load({ upstreams: kept, routes: fresh }))
  assert.deepEqual(
    [...requests.entries()].map(([labels]) => labels),
    [
      { route: 'code', upstream: 'up', status: '200' },
      { route: 'none', upstream: 'none', status: '401' },
    ],
  )
})

test('the ring of traces has the configured size', () => {
  const { activation, gateway } = started()
  activation.replace(() => load({ telemetry: { trace_ring: 7 } }))
  assert.equal(gateway.traces.size, 7)
})
