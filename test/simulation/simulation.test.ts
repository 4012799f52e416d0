/**
 * The simulation itself: it reports nothing for a correct store, and finds each of these faulty
 * stores.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AdmitRequest, Beat, Settling } from '../../dataplane/accounts/store.ts'
import { MemoryStore } from '../../dataplane/store/memory/memory.ts'
import { run } from './history.ts'
import { planOf } from './plan.ts'
import { openRemote } from './remote-memory.ts'
import { assertKept, runSeeds, seedsOf } from './seeds.ts'

/** Reads the counters first and charges when the answer arrives. */
class ChecksThenCharges extends MemoryStore {
  override admit(request: AdmitRequest) {
    return super.admit({ ...request, estimate: { tokens: 0, nanos: 0 } })
  }
}

class ChargesEachTime extends MemoryStore {
  #times = 0
  override settle(settling: Settling) {
    const settlement = super.settle(settling)
    if (settlement.charged) return settlement
    const { tenant, id, used, budget } = settling
    const again = `${id} again ${this.#times++}`
    const estimate = { tokens: 0, nanos: 0 }
    super.admit({ tenant, id: again, rules: PLENTY, estimate })
    super.settle({ tenant, id: again, used, budget })
    return settlement
  }
}

const PLENTY = {
  requestsPerMinute: 1e8,
  burst: 1e8,
  concurrentRequests: 1e6,
  tokensPerMinute: undefined,
  budget: undefined,
}

class ForgetsBeats extends MemoryStore {
  override renew(_beats: readonly Beat[]) {
    return []
  }
}

class LosesSettlements extends MemoryStore {
  #count = 0
  override settle(settling: Settling) {
    if (++this.#count % 10 === 0) return { charged: true, crossed: [] }
    return super.settle(settling)
  }
}

class ForgetsTheRate extends MemoryStore {
  override admit(request: AdmitRequest) {
    const rules = { ...request.rules, requestsPerMinute: 1e8, burst: 1e8 }
    return super.admit({ ...request, rules })
  }
}

class HasMoreSlots extends MemoryStore {
  override admit(request: AdmitRequest) {
    const concurrentRequests = request.rules.concurrentRequests + 1
    return super.admit({ ...request, rules: { ...request.rules, concurrentRequests } })
  }
}

class FreesASlotThatWasNotTaken extends MemoryStore {
  override admit(request: AdmitRequest) {
    const result = super.admit(request)
    if (request.ratesOnly === true && result.outcome === 'admitted')
      super.tenant(request.tenant).running--
    return result
  }
}

const FEW = { first: 1, last: 100, secondsMax: Number.POSITIVE_INFINITY }

const FLAWED = [
  { Flawed: ChecksThenCharges, found: /over its cap/ },
  { Flawed: ChargesEachTime, found: /settled \(tokens\), used were/ },
  { Flawed: ForgetsBeats, found: /settled \(tokens\), used were|took slot/ },
  { Flawed: LosesSettlements, found: /used were/ },
  { Flawed: ForgetsTheRate, found: /over the rate/ },
  { Flawed: HasMoreSlots, found: /took slot/ },
  { Flawed: FreesASlotThatWasNotTaken, found: /took slot/ },
]

test('a correct store breaks no promise, under every fault', async () => {
  const sum = await runSeeds(seedsOf(500), openRemote(MemoryStore))
  assertKept(sum, 'test/simulation/simulation.test.ts')
})

for (const { Flawed, found } of FLAWED) {
  test(`a faulty store is found: ${Flawed.name}`, async () => {
    const { failed } = await runSeeds(FEW, openRemote(Flawed))
    assert.match(failed.flatMap(({ problems }) => problems).join('\n'), found)
  })
}

test('a seed always produces the same history', async () => {
  for (const seed of [3, 7, 19]) {
    const [one, other] = await Promise.all(
      [1, 2].map(() => run(planOf(seed), openRemote(MemoryStore))),
    )
    assert.ok((one?.diary.length ?? 0) > 10)
    assert.deepEqual(one?.diary, other?.diary)
  }
})
