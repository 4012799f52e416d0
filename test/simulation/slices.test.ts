/** Stores with faulty slices: the simulation finds each. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startRedis } from '../helpers/redis-server.ts'
import { busyPlanOf, calmPlanOf } from './busy-plan.ts'
import type { Plan } from './plan.ts'
import { type Flaw, openRedis, Server } from './redis-backend.ts'
import { assertKept, runSeeds } from './seeds.ts'

const redis = await startRedis()
const server = await Server.connect(redis.socket)
after(async () => {
  server.close()
  await redis.stop()
})

/** Fails if the script has changed, so that the fault cannot be planted. */
function replaced(lua: string, part: string, by: string): string {
  return lua.includes('-- A later call returns an alert again') ? swapped(lua, part, by) : lua
}

function swapped(text: string, part: string, by: string): string {
  assert.ok(text.includes(part), `the script has no ${part}`)
  return text.replace(part, by)
}

const RATE_ONLY = {
  requestsPerMinute: 60,
  burst: 250,
  concurrentRequests: 1000,
  budget: undefined,
}

const NO_OTHERS = { shared: undefined, ofKey: undefined, limited: undefined }

const ROOMY = { requestsPerMinute: 1_000_000, burst: 1_000_000, concurrentRequests: 1000 }

const LARGE_BUDGET = {
  tokensPerDay: 100_000,
  nanosPerMonth: 100_000_000,
  onExceeded: 'reject',
} as const

const SAVING = 'save()\nwriteWindows()\nlocal reply'

interface Planted {
  readonly name: string
  readonly flaw: Flaw
  readonly found: RegExp
  readonly toPlan?: typeof busyPlanOf
}

const FLAWS: readonly Planted[] = [
  {
    name: 'a slice is granted twice, because the store does not record it',
    flaw: {
      lua: (lua) =>
        replaced(
          lua,
          SAVING,
          `local kept = {}
for i = 8, 12 do kept[i], slice[i] = slice[i], 0 end
${SAVING.replace('local reply', '')}
for i = 8, 12 do slice[i] = kept[i] end
local reply`,
        ),
    },
    toPlan: emptiedPlanOf,
    found: /over the rate/,
  },
  {
    name: 'holders of slices that are not small are not notified that a counter is needed',
    flaw: {
      isDeaf: true,
      lua: (lua) => {
        const deaf = replaced(
          lua,
          'local isWanted = now - wantedAt < WANTED',
          'local isWanted = false',
        )
        const large = replaced(deaf, 'max(cap / 50,', 'max(cap / 4,')
        return replaced(large, 'free < cap / 20', 'free < 0')
      },
    },
    toPlan: (seed) => {
      const plan = calmPlanOf(seed)
      const rules = { ...plan.rules, ...RATE_ONLY }
      return { ...plan, rules, ...NO_OTHERS }
    },
    found: /refused with more than 2 % left/,
  },
  {
    name: 'the store grants a slice to others before its holder has returned it',
    flaw: {
      lua: (lua) => {
        const early = replaced(lua, 'now + LEASE, number, arg(18)', 'now + 1200, number, arg(18)')
        return early.includes('local function expireSlice')
          ? swapped(early, '  slices[id] = nil\n', '  slices[id] = nil\n  do return end\n')
          : early
      },
    },
    toPlan: emptiedPlanOf,
    found: /over the rate/,
  },
  {
    name: 'usage that was settled without a call does not reach the store',
    flaw: {
      lua(lua) {
        const deaf = replaced(lua, 'total(dayLedger, arg(16), arg(13))', '')
        // A beat would send it.
        return deaf.includes('-- A living replica is not folded')
          ? swapped(deaf, '    total(window, whole, mine)\n', '')
          : deaf
      },
    },
    toPlan: evenPlanOf,
    found: /settled \(tokens\), used were/,
  },
  {
    name: 'a flush gives back a rate, because replicas do not pour again',
    flaw: { lua: (lua) => healed(lua, 'if window.born ~= born then pourAgain() end', '') },
    toPlan: flushedPlanOf,
    found: /over the rate/,
  },
  {
    name: 'after a flush only the first replica pours again',
    flaw: { lua: (lua) => healed(lua, 'if saved and not slices.new', 'if saved') },
    toPlan: flushedPlanOf,
    found: /over the rate/,
  },
  {
    name: 'after a flush claims do not add what was used since',
    flaw: {
      lua: (lua) =>
        replaced(
          lua,
          'max(0, arg(26) - slice[13])',
          'slices.new and 0 or max(0, arg(26) - slice[13])',
        ),
    },
    toPlan: flushedPlanOf,
    found: /over the rate/,
  },
]

/** Counters of each kind of history, of which only a request of the rates alone takes nothing but the rate. */
const OF_THE_RATE = [
  {
    name: 'a request of the rate alone frees a slot at its end',
    flaw: { lua: (lua: string) => admitting(lua, '    pour(0)\n', '    pour(0)\n    stop()\n') },
    toPlan: crowdedPlanOf,
    found: /took slot/,
  },
  {
    name: 'a request of the rate alone takes a slot that it never frees',
    flaw: {
      lua: (lua: string) =>
        admitting(lua, '    pour(0)\n', '    pour(0)\n    running = running + 1\n'),
    },
    toPlan: crowdedPlanOf,
    found: /slots held by/,
  },
  {
    name: 'a request of the rate alone is refused while no slot is free',
    flaw: {
      lua: (lua: string) => admitting(lua, 'local forSlot = tokens >= 0 and', 'local forSlot ='),
    },
    toPlan: crowdedPlanOf,
    found: /refused with more than 2 % left/,
  },
]

/** In the script that admits to one account. */
function admitting(lua: string, part: string, by: string): string {
  return lua.includes('local function chargeRates') ? swapped(lua, part, by) : lua
}

/** In the script that restores what a store lost. */
function healed(lua: string, part: string, by: string): string {
  return lua.includes('-- A living replica is not folded') ? swapped(lua, part, by) : lua
}

/** Only a rate that hardly leaks, in calm weather. */
function rateOnlyPlanOf(seed: number): Plan {
  const plan = calmPlanOf(seed)
  const rules = { ...plan.rules, ...RATE_ONLY, requestsPerMinute: 1 }
  return { ...plan, rules, failOpen: false, ...NO_OTHERS }
}

/** Evenly spaced requests on all gateways, which slices cover. */
function even(plan: Plan): Plan {
  const gateways = plan.skews.length
  const at = (index: number) => 500 + 20 * index
  const requests = plan.requests.map((one, index) => {
    return { ...one, at: at(index), gateway: index % gateways }
  })
  return { ...plan, requests }
}

function evenPlanOf(seed: number): Plan {
  const plan = calmPlanOf(seed)
  const budget = { ...LARGE_BUDGET, alertThresholds: [] }
  return even({ ...plan, rules: { ...plan.rules, ...ROOMY, budget } })
}

/** A flush while half of the rate is left. A gateway without requests would notice it with its next beat. */
function flushedPlanOf(seed: number): Plan {
  return { ...even(rateOnlyPlanOf(seed)), mishaps: [{ what: 'flush', at: 3000 }] }
}

/** All slots are taken for most of the time, and there are requests of the rate alone. */
function crowdedPlanOf(seed: number): Plan {
  const plan = calmPlanOf(seed)
  const rules = { ...plan.rules, ...ROOMY, concurrentRequests: 25, budget: undefined }
  const requests = plan.requests.map((one, index) =>
    index % 8 === 0
      ? {
          ...one,
          ...{ estimate: 0, usage: 0, durationMs: 0, leavesAfterMs: undefined, ratesOnly: true },
        }
      : { ...one, durationMs: one.ratesOnly === true ? 0 : 2000 + one.durationMs },
  )
  return { ...plan, rules, requests, failOpen: false, ...NO_OTHERS }
}

/**
 * All gateways have slices; then one of them uses up the rate, and after that the others use what they still have. Requests are
 * short, because the end of one leads to a claim, and a claim near the end of a counter gives back what is idle.
 */
function emptiedPlanOf(seed: number): Plan {
  const plan = rateOnlyPlanOf(seed)
  const gateways = plan.skews.length
  const requests = plan.requests.map((planned, index) => {
    const one = { ...planned, durationMs: 20, leavesAfterMs: undefined }
    const gateway = index % gateways
    if (index < 150) return { ...one, at: 500 + 15 * index, gateway }
    if (index < 290) return { ...one, at: 3000 + 15 * (index - 150), gateway: 0 }
    return { ...one, at: 6000 + index, gateway }
  })
  // A wanted slice would be returned in time.
  return { ...plan, requests, weather: { ...plan.weather, pushesLost: 1000 } }
}

/** The same with the rate as that of a limit, which the whole tenant fits. */
function asLimit(toPlan: typeof busyPlanOf): typeof busyPlanOf {
  return (seed) => {
    const plan = toPlan(seed)
    const { requestsPerMinute, burst } = plan.rules
    const limited = { rates: { requestsPerMinute, burst }, rule: undefined }
    return { ...plan, rules: { ...plan.rules, ...ROOMY }, limited }
  }
}

const SOME = { first: 1, last: 12, secondsMax: Number.POSITIVE_INFINITY }

const KEPT = {
  'requests of the rate alone need no slot': crowdedPlanOf,
  'a flush in calm weather gives back no rate': flushedPlanOf,
  'slices whose holders hear nothing admit no more than the rate': emptiedPlanOf,
  'a flush in calm weather gives back no rate of a limit': asLimit(flushedPlanOf),
  'slices whose holders hear nothing admit no more than the rate of a limit':
    asLimit(emptiedPlanOf),
}

for (const [name, toPlan] of Object.entries(KEPT)) {
  test(name, async () => {
    assertKept(await runSeeds(SOME, openRedis(server), toPlan), 'test/simulation/slices.test.ts')
  })
}

/** Those of a flush are found in the counter of a limit, too. */
const OF_LIMITS = FLAWS.flatMap(({ name, toPlan, ...planted }) =>
  toPlan === flushedPlanOf
    ? [{ ...planted, name: `${name}, of a limit`, toPlan: asLimit(toPlan) }]
    : [],
)

for (const { name, flaw, found, toPlan = busyPlanOf } of [...FLAWS, ...OF_LIMITS, ...OF_THE_RATE]) {
  test(`a faulty store is found: ${name}`, async () => {
    const { failed } = await runSeeds(SOME, openRedis(server, flaw), toPlan)
    assert.match(failed.flatMap(({ problems }) => problems).join('\n'), found)
  })
}
