/**
 * Compares histories on a real server with the full history, in a separate thread: in a test's
 * thread the test runner tracks every promise, which costs more than everything else.
 */
import { parentPort, workerData } from 'node:worker_threads'
import fc from 'fast-check'
import type {
  AdmitRequest,
  Beat,
  Extension,
  LeaseId,
  Rules,
  Settling,
  Store,
} from '../../../dataplane/accounts/store.ts'
import { Account } from '../../../dataplane/store/redis/redis-accounts.ts'
import { Calls } from '../../../dataplane/store/redis/redis-calls.ts'
import { RENEW } from '../../../dataplane/store/redis/scripts/renew.ts'
import { RedisStore } from '../../../dataplane/store/redis/store.ts'
import { aClock, type TurnedClock } from '../../helpers/clock.ts'
import { compare, type History, history } from '../../helpers/store/histories.ts'
import { atTime } from '../../helpers/store/script-time.ts'
import { openBatchedLink } from './batched-link.ts'
import { STILL } from './store-world.ts'

export interface Order {
  readonly socket: string
  readonly histories: number
  readonly seed: number
  /** The prefix of its keys. */
  readonly name: string
}

/**
 * The number of concurrent histories, each with separate keys, so that the server is always busy.
 */
const SIDE_BY_SIDE = 200

/** Most histories are cut to their first commands: a tenth at full length finds slow faults. */
const SHORT = 10

/** Made at once. */
const BATCH = 2_500

// Set by the thread's creator.
const order = workerData as Order
const link = await openBatchedLink(order.socket)
const reached = new Set<string>()

/**
 * In the full history any call expires leases; in the store, a call of their tenant does. So there
 * is one tenant, and answers from this process's memory also call the store.
 */
class Touching implements Store {
  readonly #store: RedisStore
  readonly #calls: Calls
  readonly #account: Account
  readonly #running = new Set<string>()

  constructor(keyPrefix: string, clock: TurnedClock) {
    const options = { keyPrefix, replica: 'one', clock: STILL }
    const timed = atTime(link, clock.wall)
    this.#store = new RedisStore(timed, options)
    this.#calls = new Calls(timed, options)
    this.#account = new Account('acme', keyPrefix)
  }

  async admit(request: AdmitRequest) {
    const result = await this.#store.admit({ ...request, tenant: 'acme' })
    if (result.outcome !== 'refused' && request.ratesOnly !== true) this.#running.add(request.id)
    return result
  }

  async extend(extension: Extension) {
    await this.#touch(extension)
    return await this.#store.extend(extension)
  }

  async renew(beats: readonly Beat[]) {
    for (const beat of beats) await this.#touch(beat)
    return await this.#store.renew(beats)
  }

  async settle(settling: Settling) {
    await this.#touch(settling)
    this.#running.delete(settling.id)
    return await this.#store.settle({ ...settling, tenant: 'acme' })
  }

  async read(_tenant: string, rules: Rules) {
    return await this.#store.read('acme', rules)
  }

  async #touch({ id }: LeaseId) {
    if (this.#running.has(id)) return
    await this.#calls.run({
      script: RENEW,
      account: this.#account,
      isBounded: false,
      windows: ({ day, month }) => [this.#account.windowFor(day), this.#account.windowFor(month)],
      args: () => [],
    })
  }
}

async function run(sequence: History, name: string): Promise<ReadonlySet<string>> {
  const clock = aClock(sequence.start)
  const commands = sequence.commands
    .filter(({ kind }) => kind !== 'wall')
    .map((command) => ('tenant' in command ? { ...command, tenant: 'one' as const } : command))
  return await compare({ ...sequence, commands }, new Touching(name, clock), clock)
}

for (let done = 0; done < order.histories; done += BATCH) {
  const seed = order.seed + done
  const numRuns = Math.min(BATCH, order.histories - done)
  const sequences = fc.sample(history, { numRuns, seed }).entries()
  const lane = async () => {
    for (const [index, sequence] of sequences) {
      try {
        const commands = sequence.commands.slice(0, index % 10 === 0 ? undefined : SHORT)
        const answers = await run({ ...sequence, commands }, `${order.name}${done + index}`)
        for (const answer of answers) reached.add(answer)
      } catch (cause) {
        const place = `fc.sample(history, { numRuns: ${numRuns}, seed: ${seed} })[${index}]`
        throw new Error(`${place} = ${JSON.stringify(sequence)}`, { cause })
      }
    }
  }
  await Promise.all(Array.from({ length: SIDE_BY_SIDE }, lane))
}
link.close()
parentPort?.postMessage([...reached])
