/**
 * The store that replicas share as a gateway runs it: its scripts in a real Redis that gets the virtual time, the wrapper
 * for outages around it, and the rules of the breaker. Only the connection is simulated.
 */

import { hash } from 'node:crypto'
import { Breaker } from '../../dataplane/store/redis/breaker.ts'
import { type Link, type Script, StoreAway } from '../../dataplane/store/redis/link.ts'
import type { RedisClient } from '../../dataplane/store/redis/redis-client.ts'
import { RedisStore } from '../../dataplane/store/redis/store.ts'
import { LocalShare } from '../../dataplane/store/shared/local-share.ts'
import { SharedStore } from '../../dataplane/store/shared/shared.ts'
import { atTime } from '../helpers/store/script-time.ts'
import { openOnSocket } from '../helpers/store/socket-client.ts'
import type { Backend, BackendWorld, OpenBackend, View, Witness } from './backend.ts'

/** As often as the real connection is tried while it is away; while it is not, requests look at it often enough. */
const PROBE_MS = 150
const BEAT_MS = 3000

/** The real Redis; one connection serves all histories. */
export class Server {
  readonly #client: RedisClient
  readonly #shas = new Map<string, string>()

  private constructor(client: RedisClient) {
    this.#client = client
  }

  static async connect(socket: string): Promise<Server> {
    return new Server(await openOnSocket(socket))
  }

  async run(lua: string, keys: readonly string[], args: readonly (string | number)[]) {
    const known = this.#shas.get(lua)
    if (known !== undefined) return await this.#client.runCached(known, keys, args)
    const reply = await this.#client.runWhole(lua, keys, args)
    // From here on the server has it: it is never restarted.
    this.#shas.set(lua, hash('sha1', lua))
    return reply
  }

  close(): void {
    this.#client.close()
  }
}

export function openRedis(server: Server): OpenBackend {
  return (world) => new RedisBackend(server, world)
}

const NO_COPY = { keys: [], values: [] }

/** As hexadecimal digits, because a client reads texts. */
const DUMP = `
local values = {}
for i, key in ipairs(KEYS) do
  values[i] = string.gsub(redis.call('DUMP', key) or '', '.', function(c) return string.format('%02x', string.byte(c)) end)
end
return values
`

const RESTORE = `
for i, key in ipairs(KEYS) do
  local value = string.gsub(ARGV[i], '..', function(digits) return string.char(tonumber(digits, 16)) end)
  if value ~= '' then redis.call('RESTORE', key, 0, value) end
end
`

let histories = 0

class RedisBackend implements Backend {
  /** Several histories are in the same server at a time. */
  readonly #prefix = `h${++histories}:`
  readonly #server: Server
  readonly #world: BackendWorld
  readonly #keys = new Set<string>()
  #copy: { readonly keys: readonly string[]; readonly values: readonly string[] } = NO_COPY

  constructor(server: Server, world: BackendWorld) {
    this.#server = server
    this.#world = world
  }

  open(view: View) {
    const { name, clock } = view
    const link = new VirtualLink(view, this.#world, {
      apply: (script, keys, args) => this.#apply(script, keys, args),
      onDown: () => store.left(),
      onUp: () => store.returned(),
      onGood: () => store.deliver(),
    })
    const options = { keyPrefix: this.#prefix, replica: name, clock }
    let undoings = 0
    const counting = new RedisStore(link, options)
    const wall = () => counting.wall
    const store = new SharedStore(
      {
        store: telling(counting, this.#world.witness),
        local: new LocalShare({ now: clock.now, wall }, () => 1 / this.#world.gateways),
        failOpen: this.#world.failOpen,
        isAway: () => link.isAway,
        newId: () => `${name}-late-${++undoings}`,
        onAdmitted: () => {},
        onUnavailable: () => {},
        onWaiting: () => {},
      },
      wall,
    )
    link.start()
    return store
  }

  async flush(): Promise<boolean> {
    await this.#server.run("return redis.call('DEL', unpack(KEYS))", [...this.#keys, 'none'], [])
    return true
  }

  async copy(): Promise<void> {
    const keys = [...this.#keys]
    this.#copy = { keys, values: (await this.#server.run(DUMP, keys, [])) as string[] }
  }

  async failOver(): Promise<boolean> {
    await this.flush()
    const { keys, values } = this.#copy
    await this.#server.run(RESTORE, keys, values)
    return true
  }

  async close(): Promise<void> {
    await this.flush()
  }

  async #apply(script: Script, keys: readonly string[], args: readonly (string | number)[]) {
    for (const key of keys) this.#keys.add(key)
    const link: Link = { run: (timed, ...call) => this.#server.run(timed.lua, ...call) }
    const reply = await atTime(link, this.#world.wall).run(script, keys, args)
    // A script's reply is an array of numbers, and of names where it misses windows.
    note({ name: script.name, keys, args }, reply as readonly number[], this.#world.witness)
    return reply
  }
}

/** Tells which admissions the store has not answered. */
function telling(store: RedisStore, witness: Witness): RedisStore {
  const admit = store.admit.bind(store)
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

/** Tells what a script has done, by the layout of its arguments and its reply. */
function note({ name, keys, args }: Called, reply: readonly number[], witness: Witness): void {
  const own = 3 + Number(args[2])
  const [code = 0, , found] = reply
  if (code < 1) return
  if (name === 'admit_all' && code < 10) witness.admitted(String(args[0]))
  const ended = found === undefined ? [] : settledIn(name, args.slice(own))
  if (/:key:|\{group:/.test(keys[0] ?? '')) {
    for (const id of ended) witness.settledBeside(id)
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

/** One request, or a number and three arguments of each. */
function settledIn(name: string, own: readonly (string | number)[]): string[] {
  if (name === 'settle') return [String(own[0])]
  if (name !== 'settle_all') return []
  return Array.from({ length: Number(own[0]) }, (_, index) => String(own[1 + 3 * index]))
}

interface Called {
  readonly name: string
  readonly keys: readonly string[]
  readonly args: readonly (string | number)[]
}

interface LinkEvents {
  readonly apply: Link['run']
  readonly onDown: () => void
  readonly onUp: () => void
  /** A probe was good. */
  readonly onGood: () => void
}

class VirtualLink implements Link {
  readonly #view: View
  readonly #world: BackendWorld
  readonly #events: LinkEvents
  readonly #breaker: Breaker

  constructor(view: View, world: BackendWorld, events: LinkEvents) {
    this.#view = view
    this.#world = world
    this.#events = events
    this.#breaker = new Breaker(view.clock)
  }

  get isAway(): boolean {
    return this.#breaker.isOpen
  }

  /** No call goes out before the first probe was good. */
  start(): void {
    this.#world.time.at(this.#world.time.now, () => void this.#probe())
  }

  async run(script: Script, keys: readonly string[], args: readonly (string | number)[]) {
    if (this.#breaker.isOpen) throw new StoreAway('open', false)
    try {
      const reply = await this.#view.wire.call(() => this.#events.apply(script, keys, args))
      this.#breaker.succeeded()
      return reply
    } catch (error) {
      // An error of the script is a mistake, and must be seen.
      if (!(error instanceof StoreAway)) throw this.#world.broken(error)
      if (this.#breaker.failed()) this.#events.onDown()
      throw error
    }
  }

  async #probe(): Promise<void> {
    const { wire } = this.#view
    if (wire.isDead) return
    try {
      await wire.call(() => undefined)
      this.#breaker.succeeded()
      if (this.#breaker.probed(true)) this.#events.onUp()
      this.#events.onGood()
    } catch {
      if (this.#breaker.isOpen) this.#breaker.probed(false)
      else if (this.#breaker.failed()) this.#events.onDown()
    }
    const wait = this.#breaker.isOpen ? PROBE_MS : BEAT_MS
    this.#world.time.at(this.#world.time.now + wait, () => void this.#probe())
  }
}
