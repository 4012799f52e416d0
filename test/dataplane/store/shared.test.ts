/** Admissions and settlements while the store is unavailable, and after its return. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import type {
  AdmitRequest,
  Beat,
  Extension,
  Rules,
  Settling,
} from '../../../dataplane/accounts/store.ts'
import type { Clock } from '../../../dataplane/base/clock.ts'
import { GatewayError } from '../../../dataplane/base/errors.ts'
import { MemoryStore } from '../../../dataplane/store/memory/memory.ts'
import { StoreAway } from '../../../dataplane/store/redis/link.ts'
import { LocalShare } from '../../../dataplane/store/shared/local-share.ts'
import { type Adopting, SharedStore } from '../../../dataplane/store/shared/shared.ts'
import { aClock, NOON } from '../../helpers/clock.ts'
import { aBudget, aRule, tokens } from '../../helpers/store/world.ts'

/** Counts in memory, unless it is unavailable; lists its calls. */
class Behind implements Adopting {
  away: StoreAway | undefined
  readonly adopted: AdmitRequest[] = []
  readonly settled: Settling[] = []
  readonly renewed: string[] = []
  asked = 0
  /** Answers wait for it. */
  hold: Promise<void> | undefined
  readonly #memory: MemoryStore

  constructor(clock: Clock) {
    this.#memory = new MemoryStore({ clock })
  }

  admit(request: AdmitRequest) {
    return this.#answer(() => this.#memory.admit(request))
  }

  settle(settling: Settling) {
    return this.#answer(() => {
      this.settled.push(settling)
      return this.#memory.settle(settling)
    })
  }

  extend(extension: Extension) {
    return this.#answer(() => this.#memory.extend(extension))
  }

  renew(beats: readonly Beat[]) {
    this.renewed.push(...beats.map(({ id }) => id))
    return this.#answer(() => this.#memory.renew(beats))
  }

  read(tenant: string, rules: Rules) {
    return this.#answer(() => this.#memory.read(tenant, rules))
  }

  adopt(request: AdmitRequest): void {
    this.adopted.push(request)
  }

  async #answer<T>(run: () => T): Promise<T> {
    this.asked++
    if (this.away !== undefined) throw this.away
    if (this.hold !== undefined) await this.hold
    return run()
  }
}

function aStore(failOpen: boolean) {
  const clock = aClock()
  const behind = new Behind(clock)
  const world = { isAway: false, waiting: 0, unavailable: 0 }
  let ids = 0
  const options = {
    store: behind,
    local: new LocalShare(clock, () => 1),
    failOpen,
    isAway: () => world.isAway,
    newId: () => `sum-${ids++}`,
    onDecided: () => undefined,
    onUnavailable: () => void world.unavailable++,
    onWaiting: (waiting: number) => {
      world.waiting = waiting
    },
  }
  const store = new SharedStore(options, clock.wall)
  const aRequest = (id = `r${ids++}`): AdmitRequest => ({
    tenant: 'acme',
    id,
    rules: aRule(),
    estimate: tokens(10),
  })
  const settle = (id: string, used = 5) =>
    store.settle({ tenant: 'acme', id, used: tokens(used), budget: undefined })
  const leave = () => {
    world.isAway = true
    store.left()
  }
  const comeBack = () => {
    world.isAway = false
    behind.away = undefined
    store.returned()
  }
  return { clock, behind, world, store, aRequest, settle, leave, comeBack }
}

test('closed: 503 at once, and a store that is known to be unavailable is not asked', async () => {
  const { behind, world, store, aRequest, leave } = aStore(false)
  leave()
  assert.throws(
    () => store.admit(aRequest()),
    (error: unknown) =>
      error instanceof GatewayError &&
      error.code === 'ERR_GW_LIMITER_UNAVAILABLE' &&
      error.status === 503 &&
      error.details.retryAfterSeconds === 1,
  )
  assert.deepEqual([behind.asked, world.unavailable], [0, 1])
})

test("closed: an admission whose answer was lost is reverted after the store's return", async () => {
  const { behind, store, aRequest, leave, comeBack } = aStore(false)
  behind.away = new StoreAway('timeout', true)
  const request = aRequest()
  await assert.rejects(async () => await store.admit(request), GatewayError)
  leave()
  assert.equal(behind.settled.length, 0)
  comeBack()
  await store.flush(1_000)
  assert.deepEqual(
    behind.settled.map(({ id, used, admittedAt }) => [id, used.tokens, admittedAt]),
    [[request.id, 0, undefined]],
  )
})

test('open: an outage admits locally, and reports usage with its time, each once', async () => {
  const { clock, behind, world, store, aRequest, settle, leave, comeBack } = aStore(true)
  leave()
  const [ended, running] = [aRequest(), aRequest()]
  for (const request of [ended, running]) {
    assert.equal((await store.admit(request)).outcome, 'admitted')
  }
  void settle(ended.id)
  assert.equal(world.waiting, 1)
  clock.pass(86_400_000)
  comeBack()
  assert.equal(await store.flush(1_000), 0)
  assert.deepEqual(
    behind.settled.map(({ id, used, admittedAt }) => [id, used.tokens, admittedAt]),
    [[ended.id, 5, NOON]],
  )
  assert.deepEqual(
    behind.adopted.map(({ id }) => id),
    [running.id],
    'running requests are counted there',
  )
  await settle(running.id)
  assert.equal(behind.settled.length, 2)
})

test('a settlement without an answer is sent again, and its alerts reach the caller that waits for them', async () => {
  const { behind, store, aRequest, settle, comeBack, leave } = aStore(true)
  const request = aRequest()
  await store.admit(request)
  behind.away = new StoreAway('timeout', true)
  const settlement = settle(request.id)
  await turn()
  leave()
  comeBack()
  assert.deepEqual(await settlement, { charged: true, crossed: [] })
})

test('settlements stop at the first that finds the store unavailable again, and continue later', async () => {
  const { behind, world, store, aRequest, settle, leave, comeBack } = aStore(true)
  leave()
  for (let index = 0; index < 50; index++) {
    const request = aRequest()
    await store.admit(request)
    void settle(request.id)
  }
  behind.away = new StoreAway('connection', false)
  world.isAway = false
  store.returned()
  await turn()
  assert.equal(world.waiting, 50)
  assert.ok(behind.asked <= 16, `${behind.asked} were sent`)
  comeBack()
  await store.flush(1_000)
  assert.deepEqual([world.waiting, behind.settled.length], [0, 50])
})

test('open: until the store has all local usage the local share decides, and then the store', async () => {
  const { clock, behind, store, aRequest, settle, leave, comeBack } = aStore(true)
  const capped = () => ({ ...aRequest(), rules: aRule({ budget: aBudget({ tokensPerDay: 5 }) }) })
  leave()
  const first = capped()
  assert.equal((await store.admit(first)).outcome, 'admitted')
  void settle(first.id)
  const stuck = Promise.withResolvers<void>()
  behind.hold = stuck.promise
  comeBack()
  // Another replica may not have delivered yet, nor has this one.
  for (const passed of [999, 1]) {
    clock.pass(passed)
    const refused = store.admit(capped())
    assert.ok(!(refused instanceof Promise), 'the store is not asked')
    assert.equal(refused.outcome === 'refused' && refused.by, 'budget_tokens')
    assert.equal((await store.read('acme', capped().rules)).tokens?.settled, 5)
  }
  behind.hold = undefined
  stuck.resolve()
  await store.flush(1_000)
  const before = behind.asked
  await store.admit(capped())
  assert.equal(behind.asked, before + 1)
})

test('open: for a second after its return the store is not asked, because it may lack usage of other replicas', async () => {
  const { clock, behind, store, aRequest, leave, comeBack } = aStore(true)
  leave()
  comeBack()
  clock.pass(999)
  await store.admit(aRequest())
  assert.equal(behind.asked, 0)
  clock.pass(1)
  await store.admit(aRequest())
  assert.equal(behind.asked, 1)
})

test('closed: after an outage that leases survive the store is asked at once, else a second later', async () => {
  const short = aStore(false)
  short.leave()
  short.clock.pass(9_999)
  short.comeBack()
  assert.equal((await short.store.admit(short.aRequest())).outcome, 'admitted')

  const long = aStore(false)
  long.leave()
  long.clock.pass(10_000)
  long.comeBack()
  long.clock.pass(999)
  assert.throws(() => long.store.admit(long.aRequest()), GatewayError)
  long.clock.pass(1)
  assert.equal((await long.store.admit(long.aRequest())).outcome, 'admitted')
})

test('renewals are not sent to an unavailable store', async () => {
  const { behind, store, aRequest, leave } = aStore(true)
  const request = aRequest()
  await store.admit(request)
  leave()
  assert.deepEqual(await store.renew([{ ...request, used: tokens(1) }]), [])
  assert.deepEqual(behind.renewed, [])
})

test('headers of other answers need no read of the store while they are fresh', async () => {
  const { clock, behind, store, aRequest } = aStore(true)
  const request = aRequest()
  await store.admit(request)
  const figures = await store.read('acme', request.rules, 1_000)
  assert.equal(figures.concurrency.used, 1)
  clock.pass(5_000)
  void behind.settle({ ...request, used: tokens(0), budget: undefined })
  await turn()
  assert.equal((await store.read('acme', request.rules, 1_000)).concurrency.used, 0)
})
