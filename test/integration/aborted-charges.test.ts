/**
 * A client that disconnects is charged what its upstream generated, for every client API and every
 * kind of upstream.
 */

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { aRandom } from '../helpers/random.ts'
import { until } from '../helpers/until.ts'
import { Leavers, WAYS } from './leavers/rig.ts'

const COLD = 120
const ABORTS = 1_000
const AT_ONCE = 80
const random = aRandom(20_261_126)

const leavers = new Leavers(random)
await leavers.start()
after(() => leavers.stop())

const PROVIDERS = [...new Set(WAYS.map(({ provider }) => provider))]

async function sumsNow() {
  const charged = new Map<string, number>()
  for (const provider of PROVIDERS) charged.set(provider, await leavers.charged(provider))
  return { charged, made: new Map(leavers.made) }
}

/**
 * Waits until nothing changes: a busy gateway may still read requests of clients that have
 * disconnected.
 */
async function sums() {
  let last = await sumsNow()
  let same = 0
  await until('all requests have ended', async () => {
    const now = await sumsNow()
    same = isDeepStrictEqual(now, last) ? same + 1 : 0
    last = now
    return same >= 5
  })
  return last
}

/**
 * Sends this many requests for each kind of upstream; returns the tokens charged and generated, by
 * kind of upstream.
 */
async function run(count: number, leaves: boolean) {
  const before = await sums()
  let begun = 0
  const client = async () => {
    while (begun < count) {
      const way = WAYS[begun++ % WAYS.length] as (typeof WAYS)[number]
      await leavers.ask(way, leavers.plan(leaves))
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, client))
  const now = await sums()
  const of = (provider: string, sum: 'charged' | 'made') =>
    (now[sum].get(provider) ?? 0) - (before[sum].get(provider) ?? 0)
  const each = PROVIDERS.map((name) => ({
    name,
    charged: of(name, 'charged'),
    made: of(name, 'made'),
  }))
  const sum = (which: 'charged' | 'made') => each.reduce((all, one) => all + one[which], 0)
  return { each, charged: sum('charged'), made: sum('made') }
}

function shown({ each, charged, made }: Awaited<ReturnType<typeof run>>): string {
  const ratios = each.map((one) => `${one.name} ${(one.charged / one.made).toFixed(3)}`)
  return `${charged} charged of ${made} made, ${(charged / made).toFixed(3)}: ${ratios.join(', ')}`
}

test('the first clients to disconnect, before the gateway has learned about their models, pay at least 0.9 of what was generated', async (context) => {
  await leavers.warm()
  const cold = await run(COLD, true)
  context.diagnostic(shown(cold))
  assert.ok(cold.charged >= 0.9 * cold.made, shown(cold))
})

test(`${ABORTS} clients that disconnect at random moments pay for what was generated, within 5 %`, async (context) => {
  const whole = await run(WAYS.length * 4, false)
  context.diagnostic(`read to the end: ${shown(whole)}`)
  assert.ok(Math.abs(whole.charged - whole.made) < 1e-9 * whole.made, shown(whole))
  const began = performance.now()
  const left = await run(ABORTS, true)
  const seconds = (performance.now() - began) / 1000
  context.diagnostic(`${shown(left)}; in ${seconds.toFixed(1)} s`)
})
