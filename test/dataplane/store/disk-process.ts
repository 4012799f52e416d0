/** A process that keeps budgets on disk until it is killed: `node disk-process.ts FOLDER once|storm`. */
import { DiskStore } from '../../../dataplane/store/memory/disk.ts'
import { aClock } from '../../helpers/clock.ts'
import { aBudget, aRule } from '../../helpers/store/world.ts'

const [folder = '', mode = ''] = process.argv.slice(2)
const clock = aClock()
const store = new DiskStore({ stateDir: folder, clock, onFailure: reportFailure })
const budget = aBudget({
  tokensPerDay: 1_000_000_000,
  nanosPerMonth: 1_000_000_000,
  alertThresholds: [0.5],
})
const rules = aRule({ budget })
let ids = 0

if (mode === 'once') once()
else storm()

/** 1,000 settled, one running with 40 reported, all written; then 5 more that are not. */
function once(): void {
  for (let index = 0; index < 1000; index++) use(1)
  const id = admit()
  store.renew([{ tenant: 'acme', id, used: { tokens: 40, nanos: 4000 } }])
  store.expire(clock.now())
  for (let index = 0; index < 5; index++) use(1)
  process.stdout.write('written\n')
  setInterval(() => {}, 1_000_000)
}

/** Settles and writes without end, and prints the written amount after each write. */
function storm(): void {
  for (let index = 0; index < 50; index++) use(1)
  clock.pass(250)
  store.expire(clock.now())
  process.stdout.write(`${ids}\n`, storm)
}

function admit(): string {
  const id = `r${ids++}`
  store.admit({ tenant: 'acme', id, rules, estimate: { tokens: 10, nanos: 10 } })
  return id
}

function use(tokens: number): void {
  store.settle({ tenant: 'acme', id: admit(), used: { tokens, nanos: tokens }, budget })
}

function reportFailure(error: Error | undefined): void {
  process.stderr.write(`${error?.message}\n`)
}
