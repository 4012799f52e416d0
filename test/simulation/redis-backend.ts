/**
 * The shared store as a gateway runs it: its scripts in a real Redis that gets the virtual time,
 * the wrapper for outages around it, and the rules of the breaker. Only the connection is
 * simulated.
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
import type { Backend, BackendWorld, OpenBackend, View } from './backend.ts'
import { isWanting, note, telling } from './redis-witness.ts'

/**
 * The retry interval of the real connection while it is away; otherwise requests check it often
 * enough.
 */
const PROBE_MS = 150
const BEAT_MS = 3000

/** Values of keys: a list of the fields and values of a hash, or a text; bytes are hexadecimal digits. */
export interface Copy {
  readonly keys: readonly string[]
  readonly values: readonly (string | readonly string[])[]
}

/** The part of a server that a history needs. */
export interface Scripts {
  run(lua: string, keys: readonly string[], args: readonly Argument[]): Promise<unknown>
  flush(keys: readonly string[]): Promise<void>
  copy(keys: readonly string[]): Promise<Copy>
  restore(copy: Copy): Promise<void>
}

/** A real Redis, or what stands in for it; one connection serves all histories. */
export class Server implements Scripts {
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
    // The server has the script after this call: it is never restarted.
    this.#shas.set(lua, hash('sha1', lua))
    return reply
  }

  async flush(keys: readonly string[]): Promise<void> {
    await this.run(FLUSH, keys, [])
  }

  async copy(keys: readonly string[]): Promise<Copy> {
    return { keys, values: (await this.run(COPY, keys, [])) as Copy['values'] }
  }

  async restore({ keys, values }: Copy): Promise<void> {
    for (const [index, key] of keys.entries()) {
      const value = values[index] ?? ''
      await this.run(RESTORE, [key], typeof value === 'string' ? [value] : value)
    }
  }

  close(): void {
    this.#client.close()
  }
}

/** A planted fault of a store that the simulation has to find. */
export interface Flaw {
  /** Changes the text of scripts. */
  readonly lua?: (lua: string) => string
  /** Changes the arguments of a script. */
  readonly args?: (name: string, args: readonly Argument[]) => readonly Argument[]
  /** Pushed messages of the store are lost. */
  readonly isDeaf?: boolean
}

type Argument = string | number

export function openRedis(server: Scripts, flaw: Flaw = {}): OpenBackend {
  return (world) => new RedisBackend(server, world, flaw)
}

const NO_COPY: Copy = { keys: [], values: [] }

const FLUSH = "for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, 0) end"

const HEX = `
local function hex(text)
  return (string.gsub(text, '.', function(c) return string.format('%02x', string.byte(c)) end))
end
`

/** As hexadecimal digits, because a client reads texts. */
const COPY = `${HEX}
local values = {}
for i, key in ipairs(KEYS) do
  local text = redis.pcall('GET', key)
  if type(text) == 'table' then
    values[i] = redis.call('HGETALL', key)
    for j = 1, #values[i] do values[i][j] = hex(values[i][j]) end
  else
    values[i] = hex(text or '')
  end
end
return values
`

const RESTORE = `
for i = 1, #ARGV do
  ARGV[i] = string.gsub(ARGV[i], '..', function(digits) return string.char(tonumber(digits, 16)) end)
end
if #ARGV > 1 then redis.call('HSET', KEYS[1], unpack(ARGV)) elseif ARGV[1] ~= '' then redis.call('SET', KEYS[1], ARGV[1]) end
`

let histories = 0

class RedisBackend implements Backend {
  /** Several histories use the same server at a time. */
  readonly #prefix = `h${++histories}:`
  readonly #server: Scripts
  readonly #world: BackendWorld
  readonly #keys = new Set<string>()
  readonly #flaw: Flaw
  readonly #flawed = new Map<string, string>()
  /** The listeners of pushed messages. */
  readonly #ears: { readonly wire: View['wire']; readonly store: RedisStore }[] = []
  #copy = NO_COPY

  constructor(server: Scripts, world: BackendWorld, flaw: Flaw) {
    this.#server = server
    this.#world = world
    this.#flaw = flaw
  }

  open(view: View) {
    const { name, clock } = view
    const link = new VirtualLink(view, this.#world, {
      apply: (script, keys, args) => this.#apply(script, keys, args),
      onDown: () => store.left(),
      onUp: () => store.returned(),
      onGood: () => store.deliver(),
    })
    const schedule = (ms: number, call: () => void) =>
      this.#schedule(ms, () => view.wire.whenAwake(call))
    const slices = { schedule, isTogether: true, hears: () => true }
    const options = { keyPrefix: this.#prefix, replica: name, clock, slices }
    let undoings = 0
    const counting = new RedisStore(link, options)
    this.#ears.push({ wire: view.wire, store: counting })
    const wall = () => counting.wall
    const store = new SharedStore(
      {
        store: telling(counting, this.#world.witness),
        local: new LocalShare({ now: clock.now, wall }, () => 1 / this.#world.gateways),
        failOpen: this.#world.failOpen,
        isAway: () => link.isAway,
        newId: () => `${name}-late-${++undoings}`,
        onDecided: () => {},
        onUnavailable: () => {},
        onWaiting: () => {},
      },
      wall,
    )
    link.start()
    return store
  }

  async flush(): Promise<boolean> {
    await this.#server.flush([...this.#keys])
    return true
  }

  async copy(): Promise<void> {
    this.#copy = await this.#server.copy([...this.#keys])
  }

  async failOver(): Promise<boolean> {
    await this.flush()
    await this.#server.restore(this.#copy)
    return true
  }

  async close(): Promise<void> {
    await this.flush()
  }

  #schedule(ms: number, call: () => void): () => void {
    let isCancelled = false
    const { time } = this.#world
    time.at(time.now + ms, () => {
      if (!isCancelled) call()
    })
    return () => {
      isCancelled = true
    }
  }

  async #apply(script: Script, keys: readonly string[], args: readonly Argument[]) {
    for (const key of keys) this.#keys.add(key)
    const link: Link = { run: (timed, ...call) => this.#server.run(this.#lua(timed), ...call) }
    const sent = this.#flaw.args?.(script.name, args) ?? args
    const reply = await atTime(link, this.#world.wall).run(script, keys, sent)
    const called = { name: script.name, keys, args }
    // A script's reply is an array of numbers, and of names if it lacks windows.
    note(called, reply as readonly number[], this.#world.witness)
    if (isWanting(called, reply as readonly number[])) this.#push(keys)
    return reply
  }

  #lua({ lua }: Script): string {
    const { lua: change } = this.#flaw
    if (change === undefined) return lua
    const known = this.#flawed.get(lua)
    if (known !== undefined) return known
    const changed = change(lua)
    this.#flawed.set(lua, changed)
    return changed
  }

  /** The channel on which a script publishes. */
  #push(keys: readonly string[]): void {
    if (this.#flaw.isDeaf) return
    for (const key of keys.filter((one) => one.endsWith(':state'))) {
      for (const { wire, store } of this.#ears) wire.push(() => store.want(key))
    }
  }
}

interface LinkEvents {
  readonly apply: Link['run']
  readonly onDown: () => void
  readonly onUp: () => void
  /** A probe succeeded. */
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

  /** No call is sent before the first successful probe. */
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
    this.#world.time.at(this.#world.time.now + wait, () => wire.whenAwake(() => void this.#probe()))
  }
}
