/** Gateways of one machine share the store that needs no Redis, and its file outlives it. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { openEmbedded } from '../../../dataplane/store/embedded/embedded.ts'
import { startUpstream } from '../../helpers/fake-upstream.ts'
import { until } from '../../helpers/until.ts'
import { keysOf } from '../limits/limited-gateway.ts'
import { PLENTY, type SharedOptions, startShared, untilStore } from './shared-gateways.ts'

const DECIDED_BY_SLICE = 'gw_store_decisions_total{by="slice"}'

const folder = mkdtempSync(join(tmpdir(), 'gw-embedded-'))
const upstream = await startUpstream()
const keys = keysOf(['acme', 'other'])
const options = {
  socket: join(folder, 'store.sock'),
  stateDir: join(folder, 'state'),
  onFailure: assert.ifError,
}
let store = await openEmbedded(options)
after(async () => {
  await store.close()
  await upstream.close()
  rmSync(folder, { recursive: true })
})

function start(given: Partial<SharedOptions>) {
  const url = `unix://${options.socket}`
  return startShared({ url, failOpen: false, upstream, keys, timeoutMs: 2_000, ...given })
}

test('gateways admit one limit together, and after a restart of the store a spent budget stays spent', async () => {
  const given = {
    limits: { ...PLENTY, requests_per_minute: 1, burst: 5 },
    budgets: [{ tenant: 'other', tokens_per_day: 40, on_exceeded: 'reject' }],
  }
  const gateways = await Promise.all([start(given), start(given)])
  const fronts = gateways.map((gateway) => gateway.as('acme'))
  const statuses: number[] = []
  for (let request = 0; request < 12; request++) {
    const front = fronts[request % 2]
    if (front !== undefined) statuses.push((await front.chat()).status)
  }
  assert.equal(statuses.filter((status) => status === 200).length, 5, statuses.join())
  await Promise.all(gateways.map((gateway) => gateway.stop()))

  const first = await start({ budgets: given.budgets })
  const other = first.as('other')
  let served = 0
  while ((await other.chat()).status === 200) served++
  assert.ok(served > 0)
  await store.close()
  await untilStore(other, 'away')
  store = await openEmbedded(options)
  await untilStore(other, 'up')
  assert.equal((await other.chat()).status, 402)
  await first.stop()
  const second = await start({ budgets: given.budgets })
  assert.equal((await second.as('other').chat()).status, 402)
  const { rows, kept_in } = await second.as('other').admin('/usage?by=tenant')
  assert.equal(kept_in, 'redis')
  const own = rows.find(({ by }: { by: { tenant: string } }) => by.tenant === 'acme')
  assert.equal(own?.requests, 5, JSON.stringify(rows))
  await second.stop()
})

test('slices of a gateway decide without asking the store', async () => {
  const limits = { ...PLENTY, concurrent_requests: 1_000 }
  const gateways = await Promise.all([
    start({ limits, hasSlices: true }),
    start({ limits, hasSlices: true }),
  ])
  const fronts = gateways.map((gateway) => gateway.as('acme'))
  await until('slices have decided', async () => {
    for (const front of fronts) assert.equal((await front.chat()).status, 200)
    const counts = await Promise.all(fronts.map((front) => front.series()))
    return counts.every((series) => Number(series.get(DECIDED_BY_SLICE) ?? 0) > 3)
  })
  await Promise.all(gateways.map((gateway) => gateway.stop()))
})
