/** Derives the store's actions from the calls of scripts and of a gateway's store. */
import type { RedisStore } from '../../dataplane/store/redis/store.ts'
import type { Witness } from './backend.ts'

/** Whether only slices prevented a request: such refusals have codes greater by 20. */
export function isWanting({ name, args }: Called, reply: readonly number[]): boolean {
  const isHeldBack = (code = 0) => code > 20
  if (name === 'admit_all') return isHeldBack(reply[0])
  if (name !== 'admit') return false
  if (isHeldBack(reply[0])) return true
  const own = 3 + Number(args[2])
  const windows = [7, 8].filter((at) => Number(args[own + at]) >= 0).length
  const others = reply.slice(10 + 5 * windows)
  return others.some((code, at) => at % 9 === 0 && isHeldBack(code))
}

/**
 * Records which admissions the store has not answered, and which the gateway made from its slices.
 */
export function telling(store: RedisStore, witness: Witness): RedisStore {
  const admit = store.admit.bind(store)
  const admitHere = store.admitHere.bind(store)
  const settle = store.settle.bind(store)
  store.admitHere = (request) => {
    const result = admitHere(request)
    if (result !== undefined) witness.admitted(request.id, true)
    return result
  }
  store.settle = (settling) => {
    if (store.hasHere(settling.id)) {
      witness.settled(settling.id)
      witness.settledBeside(settling.id, true)
    }
    return settle(settling)
  }
  store.admit = async (request) => {
    try {
      return await admit(request)
    } catch (error) {
      witness.unanswered(request.id)
      throw error
    }
  }
  return store
}

/** Returns a script's actions, from the layout of its arguments and its reply. */
export function note(
  { name, keys, args }: Called,
  reply: readonly number[],
  witness: Witness,
): void {
  if (name === 'claim') {
    const [, , ...replies] = reply as readonly unknown[]
    noteClaims(keys, args, replies as (readonly number[])[], witness)
    return
  }
  const own = 3 + Number(args[2])
  const [code = 0, , found] = reply
  if (code < 1) return
  if (name === 'admit_all' && code < 10) witness.admitted(String(args[0]))
  const ended = found === undefined ? [] : settledIn(name, args.slice(own))
  if (/:key:|\{group:|\{limit:/.test(keys[0] ?? '')) {
    const isLimit = keys[0]?.includes('{limit:') ?? false
    for (const id of ended) witness.settledBeside(id, isLimit)
    return
  }
  if (name === 'admit' && code < 10) witness.admitted(String(args[own + 13]))
  for (const id of ended) witness.settled(id)
  if (name !== 'renew') return
  for (let at = own; at < args.length; at += 10) {
    const isAlive = reply[2 + (at - own) / 10] === 1
    if (isAlive) witness.renewed(String(args[at]), Number(args[at + 6]))
  }
}

/** A claim has, for each account, how many keys and arguments it has, and these. */
function noteClaims(
  keys: readonly string[],
  args: readonly (string | number)[],
  replies: readonly (readonly number[])[],
  witness: Witness,
): void {
  let [key, at] = [0, 1]
  for (const reply of replies) {
    const [keysHere, argsHere] = [Number(args[at]), Number(args[at + 1])]
    const own = at + 2 + 3 + Number(args[at + 4])
    const [, limit, tenant] = /:\{(limit:)?(\w+)\}:state$/.exec(keys[key] ?? '') ?? []
    const slots = Number(args[own + 17]) + (reply[5] ?? 0)
    if (reply[0] === 1 && tenant !== undefined) {
      witness.claimed({ slice: String(args[own]), tenant: limit ? undefined : tenant, slots })
    }
    key += keysHere
    at += 2 + argsHere
  }
}

/** One request, or a number and three arguments of each. */
function settledIn(name: string, own: readonly (string | number)[]): string[] {
  if (name === 'settle') return [String(own[0])]
  if (name !== 'settle_all') return []
  return Array.from({ length: Number(own[0]) }, (_, index) => String(own[1 + 3 * index]))
}

export interface Called {
  readonly name: string
  readonly keys: readonly string[]
  readonly args: readonly (string | number)[]
}
