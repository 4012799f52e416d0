/** One request under limits[]: its counters are found, it is admitted and settled; and with 10,000 limits for others. */

import { compileFurther } from '../../../dataplane/accounts/further/limits.ts'
import type { Subject } from '../../../dataplane/accounts/further/selectors.ts'
import type { Rules } from '../../../dataplane/accounts/store.ts'
import { FurtherLimit } from '../../../dataplane/schema/further-limits.ts'
import { MemoryStore } from '../../../dataplane/store/memory/memory.ts'
import { compare } from './runner.ts'

const BASE: Rules = Object.freeze({
  requestsPerMinute: 100_000_000,
  burst: 100_000_000,
  concurrentRequests: 1_000,
  tokensPerMinute: undefined,
  budget: undefined,
})

const SUBJECT: Subject = {
  tenant: 'acme',
  key: 'k1',
  route: 'chat',
  models: ['small'],
  model: 'chat',
  operation: 'chat',
  tags: '',
}

const ESTIMATE = { tokens: 100, nanos: 0 }
const clock = { now: () => performance.now(), wall: () => Date.now() }

function limitsFor(tenant: string, count: number, selectors = {}) {
  return Array.from({ length: count }, (_, index) =>
    FurtherLimit.parse({
      name: `limit-${tenant}-${index}`,
      for: { tenant, each: 'key', ...selectors },
      requests_per_minute: 100_000_000,
      burst: 100_000_000,
      concurrent_requests: 1_000,
    }),
  )
}

let made = 0

/** Finds the rules, admits and settles. */
function requests(sections: ReturnType<typeof limitsFor>): (times: number) => void {
  const further = compileFurther(sections)
  const store = new MemoryStore({ clock })
  const caller = {}
  return (times) => {
    for (let index = 0; index < times; index++) {
      const rules = further?.mayLimit(caller, SUBJECT)
        ? further.of(BASE, caller, { ...SUBJECT }, clock)
        : BASE
      const id = `r${++made}`
      const result = store.admit({ tenant: 'acme', id, rules, estimate: ESTIMATE })
      if (result.outcome !== 'admitted') throw new Error(`refused by ${JSON.stringify(result)}`)
      const { scoped } = rules
      store.settle({ tenant: 'acme', id, used: ESTIMATE, budget: undefined, scoped })
    }
  }
}

const models = Array.from({ length: 10_000 }, (_, index) =>
  limitsFor(`of-model-${index}`, 1, { tenant: '*', model: `other-${index}` }),
).flat()
const others = Array.from({ length: 10_000 }, (_, index) => limitsFor(`other-${index}`, 1)).flat()

await compare(import.meta.url, 300_000, {
  'no limits[]': requests([]),
  '10,000 of other tenants': requests(others),
  '10,000 of other models': requests(models),
  '1 that applies': requests(limitsFor('acme', 1)),
  '4 that apply': requests(limitsFor('acme', 4)),
  '16 that apply': requests(limitsFor('acme', 16)),
})
