/** With a store on the network: a request that ends during a call to the store leaves nothing. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import type { AdmitResult, Rules, Store } from '../../dataplane/accounts/store.ts'
import { GatewayError } from '../../dataplane/base/errors.ts'
import { aRandom } from '../helpers/random.ts'
import { MOMENTS } from './faults/abandoned.ts'
import { simulate } from './faults/simulated-gateway.ts'

const BODY = Buffer.from('{"model":"chat","messages":[{"role":"user","content":"hi"}]}')

const RULES: Rules = {
  requestsPerMinute: 1,
  burst: 1,
  concurrentRequests: 1,
  tokensPerMinute: undefined,
  budget: undefined,
}

/** Answers in a later turn, and to an admission as the test says. */
class Distant implements Store {
  answer: (admit: () => Promise<AdmitResult>) => Promise<AdmitResult> = async (admit) => {
    await turn()
    return await admit()
  }
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
  }

  admit(request: Parameters<Store['admit']>[0]) {
    return this.answer(async () => await this.#store.admit(request))
  }

  async extend(extension: Parameters<Store['extend']>[0]) {
    await turn()
    return await this.#store.extend(extension)
  }

  async renew(beats: Parameters<Store['renew']>[0]) {
    await turn()
    return await this.#store.renew(beats)
  }

  async settle(settling: Parameters<Store['settle']>[0]) {
    await turn()
    return await this.#store.settle(settling)
  }

  async read(tenant: string, rules: Rules) {
    return await this.#store.read(tenant, rules)
  }
}

function simulateDistant() {
  const stores: Distant[] = []
  const simulation = simulate(undefined, (store) => {
    const distant = new Distant(store)
    stores.push(distant)
    return distant
  })
  return { simulation, store: stores[0] as Distant }
}

type World = ReturnType<typeof simulateDistant>

async function assertNothingLeft({ simulation, store }: World): Promise<void> {
  // The request that it ends does not wait for a settlement.
  for (let turns = 0; turns < 4; turns++) await turn()
  const left = Object.entries(simulation.leftovers()).filter(([, count]) => count !== 0)
  assert.deepEqual(left, [])
  assert.equal((await store.read('acme', RULES)).concurrency.used, 0)
}

const ANSWERS: Readonly<Record<string, Distant['answer']>> = {
  'which admits it': (admit) => admit(),
  'which is away': async () => {
    throw new GatewayError('ERR_GW_LIMITER_UNAVAILABLE', 'away')
  },
  'which makes a mistake': async () => {
    throw new TypeError('injected')
  },
}

for (const [how, answer] of Object.entries(ANSWERS)) {
  test(`the client disconnects during a call to the store, ${how}: nothing is left`, async () => {
    const world = simulateDistant()
    const asked = Promise.withResolvers<void>()
    const answered = Promise.withResolvers<void>()
    world.store.answer = async (admit) => {
      asked.resolve()
      await answered.promise
      return await answer(admit)
    }
    const call = world.simulation.call(BODY)
    call.sendAll()
    await asked.promise
    call.leave()
    await turn()
    answered.resolve()
    await call.served
    assert.equal(
      world.simulation.open.size,
      0,
      'no upstream gets the request of a disconnected client',
    )
    await assertNothingLeft(world)
  })
}

describe('with a store that answers later', () => {
  for (const { name, live } of MOMENTS) {
    test(`${name}: nothing is left, in the gateway and in the store`, async () => {
      const world = simulateDistant()
      for (let seed = 1; seed <= 20; seed++) {
        const call = await live(world.simulation, aRandom(seed))
        await call.served
        call.wire.blocked = false
        call.wire.destroy()
        await turn()
      }
      await assertNothingLeft(world)
    })
  }
})
