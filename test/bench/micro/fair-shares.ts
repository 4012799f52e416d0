/** The turn of a request at a full upstream: its wait, its charge and its end, by how many tenants wait. */
import { Fairness } from '../../../dataplane/schema/fairness.ts'
import { Shares } from '../../../dataplane/upstream/fairness/shares.ts'
import { compare } from './runner.ts'

const WAITING = 1000

function turnsOf(tenants: number): (times: number) => void {
  const shares = new Shares<object>()
  shares.configure(Fairness.parse({ max_waiting: WAITING, guarantee: { t0: 0.3 } }))
  for (let count = 0; count < WAITING; count++)
    shares.join(shares.account(`t${count % tenants}`, false), {})
  return (times) => {
    for (let count = 0; count < times; count++) {
      const next = shares.next()
      if (next === undefined) return
      const charge = shares.charge(next.account, WAITING)
      shares.join(shares.account(next.account.tenant, false), {})
      shares.end(charge)
      shares.settle(charge, 50 + (count & 31), count)
    }
  }
}

await compare(import.meta.url, 50_000, {
  '3 tenants': turnsOf(3),
  '100 tenants': turnsOf(100),
  '1,000 tenants': turnsOf(1000),
})
