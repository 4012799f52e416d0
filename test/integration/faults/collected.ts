/** The heap of this process after a full garbage collection. */
import { setImmediate as turn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collect: () => void = runInNewContext('gc')

export async function heapBytes(): Promise<number> {
  for (let round = 0; round < 4; round++) {
    await turn()
    collect()
  }
  return process.memoryUsage().heapUsed
}
