/**
 * The upstreams of a gateway in a cluster: sums over its pods, the pods that differ, and the reason
 * of an upstream that does not serve.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { endpointLines } from '../../cli/printing/tables/upstreams-text.ts'
import { upstreamsOf } from '../../cli/status/pod-upstreams.ts'

const well = {
  provider: 'vllm',
  eligible: true,
  health: 'healthy',
  breaker: 'closed',
  in_flight: 1,
}
const aPod = (pod: string, ...upstreams: readonly object[]) => ({ pod, body: { upstreams } })
const open = { eligible: false, breaker: 'open', why: 'its breaker is open; last failure: reset' }

test('upstreams that all pods see alike are one row, with their requests summed', () => {
  const local = { name: 'local', ...well }
  const { rows, value } = upstreamsOf([aPod('p-1', local), aPod('p-2', local), aPod('p-3', local)])
  const [row] = rows
  assert.deepEqual(
    [row?.eligible, row?.health, row?.breaker, row?.in_flight, row?.why],
    [true, 'healthy', 'closed', 3, undefined],
  )
  assert.deepEqual(value[0]?.differing, [])
})

test('a pod that differs is named in each column, and with its reason', () => {
  const local = { name: 'local', ...well }
  const pods = [aPod('p-1', { ...local, ...open }), aPod('p-2', local), aPod('p-3', local)]
  const { rows, value } = upstreamsOf(pods)
  const [row] = rows
  assert.equal(row?.eligible, 'yes; no at p-1')
  assert.equal(row?.breaker, 'closed; open at p-1')
  assert.equal(row?.why, 'its breaker is open; last failure: reset (p-1)')
  assert.equal(value[0]?.eligible, false)
  assert.deepEqual(value[0]?.differing, [{ pod: 'p-1', health: 'healthy', ...open }])
})

test('a reason of every pod is printed without pods', () => {
  const hosted = { name: 'hosted', ...well, why: 'it refuses the credential of the gateway (401)' }
  const { rows } = upstreamsOf([aPod('p-1', hosted), aPod('p-2', hosted)])
  assert.equal(rows[0]?.why, 'it refuses the credential of the gateway (401)')
})

test('a pool without a pod reports a missing endpoint, and no name', () => {
  const pool = { name: 'pool', ...well, eligible: false, why: 'it has no endpoint', endpoints: [] }
  const { value } = upstreamsOf([aPod('p-1', pool)])
  assert.deepEqual(endpointLines(value), ['endpoints of pool: none; it has no endpoint'])
})

test('an answer that cannot be read adds nothing', () => {
  assert.deepEqual(upstreamsOf([{ pod: 'p-1', body: 'no' }]), { value: [], rows: [] })
})
