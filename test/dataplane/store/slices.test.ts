/** A slice as plain state: its size, and what its claims give back. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { NOTHING } from '../../../dataplane/accounts/amounts.ts'
import { Demand } from '../../../dataplane/store/escrow/demand.ts'
import { KINDS, nothing, type Quantities } from '../../../dataplane/store/escrow/quantities.ts'
import { type Claim, type Hold, Slice } from '../../../dataplane/store/escrow/slice.ts'

const NEED = { ...nothing(), requests: 1, slots: 1 }
const PER_SECOND = 40
const FAILOVER_S = 5
const MAY = { keep: true, want: true }

/** Steady use, from the first second on. */
function useFor(demand: Demand, ms: number, slots = 1): void {
  for (let at = 0; at < ms; at += 1000 / PER_SECOND) demand.add(NEED, slots, at)
}

test('a slice is wanted for a failover of five seconds, whenever its claim comes', () => {
  const room = Array.from({ length: 100 }, (_, index) => {
    const claimedAt = 3000 + 10 * index
    const demand = new Demand()
    useFor(demand, claimedAt)
    return demand.wanted(1, claimedAt).requests
  })
  assert.ok(Math.min(...room) >= FAILOVER_S * PER_SECOND, `${Math.min(...room)}`)
})

test('a pause of a second leaves the wanted slice large enough for a failover', () => {
  const demand = new Demand()
  useFor(demand, 3000)
  assert.ok(demand.wanted(0, 4000).requests >= FAILOVER_S * PER_SECOND)
})

test('there are slots for the requests of a second, which run at once after a pause of the process', () => {
  const demand = new Demand()
  useFor(demand, 3000)
  assert.ok(demand.wanted(1, 3000).slots >= PER_SECOND)
})

/** The reply grants what the claim wants. */
function granted({ idle, wanted }: Claim): Quantities {
  const all = nothing()
  for (const kind of KINDS) all[kind] = Math.max(idle[kind], wanted[kind])
  return all
}

function aBusySlice(): Slice {
  const slice = new Slice()
  useFor(slice.demand, 2000)
  const claim = slice.claim(2000, MAY)
  const idle = granted(claim)
  slice.hear(claim, { isWanted: false, idle, limits: idle }, 2000)
  return slice
}

test('a request of the rate alone takes one idle request, and the next one may need as much as before', () => {
  const slice = aBusySlice()
  const { idle, used } = slice
  const before = { idle: { ...idle }, used: { ...used }, wanted: slice.demand.wanted(1, 2000) }
  slice.takeOfRate(2000)
  assert.deepEqual(idle, { ...before.idle, requests: before.idle.requests - 1 })
  assert.deepEqual(used, { ...before.used, requests: before.used.requests + 1 })
  assert.ok(slice.demand.wanted(1, 2000).slots >= before.wanted.slots)
})

const AMOUNTS = fc.record({ tokens: fc.nat(1000), nanos: fc.nat(1000) })

test('what is risked is what running requests held and had not named as unused', () => {
  const deeds = fc.array(fc.tuple(fc.constantFrom('take', 'beat', 'grow', 'lower', 'end'), AMOUNTS))
  fc.assert(
    fc.property(deeds, (all) => {
      const slice = new Slice()
      const holds: Hold[] = []
      for (const [what, amount] of all) {
        const [hold] = holds
        if (what === 'take') {
          slice.take({ ...nothing(), ...amount }, 0)
          holds.push({ ...amount, rated: -1, unused: NOTHING })
        } else if (hold === undefined) continue
        else if (what === 'beat') slice.beat(hold, amount)
        else if (what === 'grow') slice.grow(hold, amount.tokens, amount.nanos)
        else if (what === 'lower') slice.lower(hold, amount)
        else slice.end(holds.shift() ?? hold, 0, amount)
      }
      for (const kind of ['tokens', 'nanos'] as const) {
        const { risked, used } = slice.claim(0, MAY)
        const sum = (of: (hold: Hold) => number) => holds.reduce((all, one) => all + of(one), 0)
        assert.equal(
          risked[kind],
          sum((one) => one[kind] - one.unused[kind]),
        )
        assert.equal(
          used[kind],
          sum((one) => one[kind]),
        )
        for (const one of holds) assert.ok(one.unused[kind] >= 0 && one.unused[kind] <= one[kind])
      }
    }),
  )
})

test('while the store does not answer, claims give back nothing but what it may have taken of the first', () => {
  const slice = aBusySlice()
  const before = slice.idle.requests
  slice.claim(2200, MAY)
  for (let at = 2400; at < 8000; at += 200) slice.claim(at, MAY)
  assert.equal(slice.idle.requests, before)
})

test('a claim that did not leave the process gives nothing back', () => {
  const slice = aBusySlice()
  const before = { ...slice.idle }
  // So much later that less is wanted.
  slice.takeBack(slice.claim(7000, MAY))
  assert.deepEqual(slice.idle, before)
})

test('a slice that the store has lost is void, also for replies to claims from before', () => {
  const slice = aBusySlice()
  const claim = slice.claim(2200, MAY)
  slice.forfeit()
  const idle = granted(claim)
  slice.hear(claim, { isWanted: false, idle, limits: idle }, 2210)
  assert.deepEqual(slice.idle, nothing())
  const next = slice.claim(2220, MAY)
  slice.hear(next, { isWanted: false, idle, limits: idle }, 2230)
  assert.equal(slice.idle.requests, idle.requests)
})

test('while another replica wants a counter, a claim gives back all, also if the last one has no answer', () => {
  const slice = aBusySlice()
  slice.claim(2200, MAY)
  slice.want(2300)
  assert.deepEqual(slice.claim(2400, MAY).idle, nothing())
})
