/** The endpoints of upstreams as several pods see them, in one view. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { endpointLines } from '../../cli/printing/tables/upstreams-text.ts'
import { endpointsOf } from '../../cli/status/pod-endpoints.ts'

const aPod = (pod: string, ...upstreams: readonly object[]) => ({ pod, body: { upstreams } })
const at = (address: string, state: string, in_flight: number, queue?: number) => ({
  ...{ address, state, in_flight },
  ...(queue !== undefined && { queue }),
})

test('requests of all pods are summed, and a state that some pods see names them', () => {
  const seen = endpointsOf([
    aPod('one', { name: 'local', endpoints: [at('a:1', 'ready', 2, 5), at('b:1', 'failed', 0)] }),
    aPod('two', { name: 'local', endpoints: [at('a:1', 'ready', 3, 7), at('b:1', 'ready', 1)] }),
    aPod('three', { name: 'local', endpoints: [at('a:1', 'ready', 0)] }),
  ])
  assert.deepEqual(endpointLines(seen), [
    'endpoints of local: 2',
    '  a:1  ready, 5 in flight, reports 7',
    '  b:1  failed at 1 of 3 pods, 1 in flight',
  ])
})

test('a state that all pods report is printed without pods, and upstreams with only their name are left out', () => {
  const upstreams = [{ name: 'plain' }, { name: 'local', endpoints: [at('a:1', 'draining', 1)] }]
  const seen = endpointsOf([aPod('one', ...upstreams), aPod('two', ...upstreams)])
  assert.deepEqual(endpointLines(seen), ['endpoints of local: 1', '  a:1  draining, 2 in flight'])
})

test('requests that wait for a server are summed, and an answer that cannot be read adds nothing', () => {
  const cold = (waiting: number) => ({ name: 'big', cold_start: { has_endpoint: false, waiting } })
  const seen = endpointsOf([aPod('one', cold(2)), aPod('two', cold(3)), { pod: 'x', body: 'no' }])
  assert.deepEqual(endpointLines(seen), ['endpoints of big: none; waiting requests: 5'])
})
