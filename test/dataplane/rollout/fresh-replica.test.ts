/** A replica that has started and has not read the shared state of a rollout. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Rollouts } from '../../../dataplane/rollout/rollouts.ts'
import { type Cells, MemoryCells } from '../../../dataplane/store/cells/cells.ts'
import { createLog } from '../../../dataplane/telemetry/log.ts'
import { createMetrics } from '../../../dataplane/telemetry/metrics.ts'
import { readRollouts, rolloutsOf } from '../../../operator/delivery/reported-rollouts.ts'
import { aClock } from '../../helpers/clock.ts'
import { aSnapshotOf } from '../request/stages/snapshots.ts'

const upstream = (name: string) => ({ name, endpoint: 'http://127.0.0.1:9', provider: 'vllm' })
const snapshot = aSnapshotOf({
  upstreams: [upstream('old'), upstream('new')].map((one) => ({ ...one, model: 'm' })),
  routes: [
    {
      ...{ name: 'chat', strategy: 'single', primary: 'old' },
      rollout: { to: 'new', steps: [10, 50, 100] },
    },
  ],
})
const clock = aClock()
const log = createLog({ write() {}, flush() {}, wallClock: clock.wall })

function replica(cells: Cells): Rollouts {
  const metrics = createMetrics()
  const rollouts = new Rollouts({ clock, random: () => 0.5, cells, metrics, log, alert() {} })
  rollouts.follow(snapshot)
  return rollouts
}

test('the status has the state that other replicas have read, however new the replica is', async () => {
  const cells = new MemoryCells()
  const older = replica(cells)
  await older.act('chat', 'promote')
  clock.pass(60_000)
  const load = () => new Promise<never>(() => {})
  const newer = replica(Object.assign(new MemoryCells(), { load }))
  const reports = [newer, older].map((one) => ({ rollouts: readRollouts(one.report()) }))
  const [shown] = rolloutsOf(reports)
  assert.deepEqual([shown?.phase, shown?.share], ['complete', 100])
})
