/** 256 requests run at a time, each with an id; the oldest is looked up and removed as a new one arrives. */

import type { MemoryLease } from '../../../dataplane/store/memory/lease.ts'
import { LeaseTable } from '../../../dataplane/store/memory/lease-table.ts'
import { collectGarbage, compare } from './runner.ts'

const RUNNING = 200

let made = 0
function aLease(): MemoryLease {
  const id = `${(++made).toString(36)}-4f1c9a7e-0d`
  return { id, next: undefined, reserved: new Array(64).fill(0) } as unknown as MemoryLease
}

const ids: string[] = []
const table = new LeaseTable()
const map = new Map<string, MemoryLease>()

await compare(import.meta.url, 1_000_000, {
  'table with chains': (times) => {
    collectGarbage()
    for (let index = 0; index < times; index++) {
      const lease = aLease()
      table.add(lease)
      const old = ids[made % RUNNING]
      ids[made % RUNNING] = lease.id
      const found = old === undefined ? undefined : table.get(old)
      if (found !== undefined) table.remove(found)
    }
  },
  Map: (times) => {
    collectGarbage()
    for (let index = 0; index < times; index++) {
      const lease = aLease()
      map.set(lease.id, lease)
      const old = ids[made % RUNNING]
      ids[made % RUNNING] = lease.id
      if (old !== undefined && map.get(old) !== undefined) map.delete(old)
    }
  },
})
