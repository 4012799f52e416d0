/** Counters over three real processes while their Redis is killed, frozen, flushed and replaced: exact, and no request lost. */
import assert from 'node:assert/strict'
import { symlinkSync, unlinkSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { startUpstream } from '../../helpers/fake-upstream.ts'
import { type RedisServer, startRedis } from '../../helpers/redis-server.ts'
import { until } from '../../helpers/until.ts'
import { ANSWER_TOKENS, keysOf, standing } from '../limits/limited-gateway.ts'
import { Replicas } from './rig.ts'
import { Storm } from './storm.ts'

const FAULTS = ['calm', 'killed', 'frozen', 'flushed', 'promoted'] as const
type Fault = (typeof FAULTS)[number]

const FROZEN_MS = 5_000

/** Slices are a part of the larger counters only. */
const RATES = [250, process.env.GW_LONG ? 5_000 : 1_500]
const BUDGETS = [3_000, process.env.GW_LONG ? 50_000 : 15_000]

const upstream = await startUpstream()
const folder = await mkdtemp(join(tmpdir(), 'gw-slices-'))
const place = join(folder, 'redis.sock')
let primary = await keeping()
/** All that were started, to stop them also after a failed test. */
const servers = new Set([primary])
symlinkSync(primary.socket, place)

const rateOf = (fault: Fault, burst: number) => `rate-${burst}-${fault}`
const budgetOf = (fault: Fault, cap: number) => `budget-${cap}-${fault}`

const replicas = await Replicas.start(
  3,
  {
    upstreams: [{ name: 'up', endpoint: upstream.url }],
    rate_limits: {
      redis: { timeout_ms: 250, fail_open: false },
      tenants: [
        ...FAULTS.flatMap((fault) =>
          RATES.map((burst) => ({
            tenant: rateOf(fault, burst),
            ...{ requests_per_minute: 1, burst, concurrent_requests: 500 },
          })),
        ),
      ],
    },
    budgets: FAULTS.flatMap((fault) =>
      BUDGETS.map((cap) => ({ tenant: budgetOf(fault, cap), tokens_per_day: cap })),
    ),
  },
  keysOf([
    ...FAULTS.flatMap((fault) => [
      ...RATES.map((burst) => rateOf(fault, burst)),
      ...BUDGETS.map((cap) => budgetOf(fault, cap)),
    ]),
  ]),
  { redis: primary, socket: place },
)
after(async () => {
  await Promise.all([replicas.stop(), upstream.close()])
  await Promise.all([...servers].map((server) => server.stop()))
  await rm(folder, { recursive: true })
})

/** A server that has everything after a crash. */
function keeping(args: readonly string[] = []): Promise<RedisServer> {
  const files = ['--appendonly', 'yes', '--appendfsync', 'no']
  return startRedis({ port: 'free', args: [...files, ...args] })
}

const begin: Readonly<Record<Fault, () => Promise<void>>> = {
  calm: async () => undefined,
  async killed() {
    primary.signal('SIGKILL')
    await delay(500)
    primary = await primary.restart()
    servers.add(primary)
  },
  async frozen() {
    primary.signal('SIGSTOP')
    await delay(FROZEN_MS)
    primary.signal('SIGCONT')
  },
  async flushed() {
    await primary.ask('FLUSHALL')
  },
  async promoted() {
    const second = await keeping(['--replicaof', '127.0.0.1', String(primary.port)])
    servers.add(second)
    // It waits until the second server has all: a primary that is killed may have answered what that one never gets.
    // It is refused until the primary has heard from the second server.
    const begins = async () =>
      (await primary.ask('FAILOVER', 'TO', '127.0.0.1', String(second.port))).startsWith('+OK')
    await until('the second server may take over', begins)
    const isPrimary = async () => (await second.ask('INFO', 'replication')).includes('role:master')
    await until('the second server takes over', isPrimary)
    primary.signal('SIGKILL')
    unlinkSync(place)
    symlinkSync(second.socket, place)
    primary = second
  },
}

for (const fault of FAULTS) {
  test(`${fault}: a counter admits what it has room for, and a budget one request more`, async (context) => {
    const rates = RATES.map((room) => new Storm(replicas, { tenant: rateOf(fault, room), room }))
    const budgets = BUDGETS.map(
      (cap) => new Storm(replicas, { tenant: budgetOf(fault, cap), room: cap / ANSWER_TOKENS }),
    )
    const storms = [...rates, ...budgets]
    const began = performance.now()
    await Promise.all(storms.map((storm) => storm.rise(0.4 * storm.counter.room)))
    const fills = storms.map((storm) => storm.fill())
    await begin[fault]()
    await Promise.all(fills)
    const leaked = Math.ceil((performance.now() - began) / 60_000)
    for (const { counter, admitted, needless, statuses } of storms) {
      const shown = JSON.stringify(Object.fromEntries(statuses))
      context.diagnostic(
        `${counter.tenant}: ${admitted} of ${counter.room}, ${needless} needless, ${shown}`,
      )
    }
    for (const { admitted, counter } of rates) {
      assert.ok(admitted >= counter.room - 1, `${admitted} of ${counter.room}`)
      assert.ok(admitted <= counter.room + leaked, `${admitted} of ${counter.room}`)
    }
    for (const { admitted, counter } of budgets) {
      assert.ok(admitted >= counter.room, `${admitted} of ${counter.room}`)
      assert.ok(admitted <= counter.room + 1, `${admitted} of ${counter.room}`)
      await until(`the store has what ${counter.tenant} used`, async () => {
        const { tokens_per_day: day } = await standing(
          replicas.front(1, counter.tenant),
          counter.tenant,
        )
        return day.used === admitted * ANSWER_TOKENS
      })
    }
    if (fault !== 'calm') return
    assert.deepEqual(
      storms.map(({ needless }) => needless),
      storms.map(() => 0),
    )
  })
}
