/** The virtual machine of Lua in which values are kept and scripts run. Only this file knows the package. */
import { LuaFactory } from 'wasmoon'
import { programOf } from './lua/scripts.ts'

/** The functions that the program returns, in its order. */
const FUNCTIONS = ['run', 'sweep', 'drain', 'keep', 'restore', 'listen', 'info'] as const

type FunctionName = (typeof FUNCTIONS)[number]

/** The package passes texts as UTF-8 that ends at a zero byte; its functions for bytes and pointers are used instead. */
interface Machine {
  readonly HEAPU8: Uint8Array
  readonly HEAPU32: Uint32Array
  _malloc(bytes: number): number
  _free(at: number): void
  _luaL_newstate(): number
  _luaL_openlibs(state: number): void
  _luaL_loadbufferx(state: number, text: number, length: number, name: number, mode: number): number
  _lua_checkstack(state: number, more: number): number
  _lua_gettop(state: number): number
  _lua_pcallk(state: number, args: number, results: number, h: number, c: number, k: number): number
  _lua_pushlstring(state: number, text: number, length: number): number
  _lua_pushnumber(state: number, value: number): void
  _lua_pushvalue(state: number, index: number): void
  _lua_settop(state: number, index: number): void
  _lua_tolstring(state: number, index: number, length: number): number
}

const ALL_RESULTS = -1
const SCRATCH_BYTES = 64 * 1024
/** Half of what the virtual machine can address. */
const MEMORY_MAX = 1024 * 1024 * 1024

export type Value = Uint8Array | string | number

export class LuaVm {
  readonly #machine: Machine
  readonly #state: number
  /** Where the length of a result is written. */
  readonly #length: number
  #scratch = { at: 0, bytes: 0 }

  private constructor(machine: Machine, memoryMax: number) {
    this.#machine = machine
    this.#length = machine._malloc(4)
    this.#state = machine._luaL_newstate()
    machine._luaL_openlibs(this.#state)
    const program = Buffer.from(programOf(memoryMax))
    const at = this.#room(program.length)
    machine.HEAPU8.set(program, at)
    const loaded = machine._luaL_loadbufferx(this.#state, at, program.length, at, 0)
    if (loaded !== 0 || machine._lua_pcallk(this.#state, 0, FUNCTIONS.length, 0, 0, 0) !== 0)
      throw new Error(`The store's program does not start: ${this.#result(-1)}`)
  }

  static async open(memoryMax = MEMORY_MAX): Promise<LuaVm> {
    const { module } = await new LuaFactory().getLuaModule()
    return new LuaVm(module as unknown as Machine, memoryMax)
  }

  /** Memory in use, a part of it garbage. */
  get bytes(): number {
    return Number(/used_memory:(\d+)/.exec(String(this.call('info', [])[0]))?.[1])
  }

  /** Throws if memory ends; errors of scripts are replies. */
  call(name: FunctionName, args: readonly Value[]): Buffer[] {
    const machine = this.#machine
    const state = this.#state
    if (machine._lua_checkstack(state, args.length + 8) === 0) throw new Error('too many arguments')
    machine._lua_pushvalue(state, FUNCTIONS.indexOf(name) + 1)
    this.#push(args)
    try {
      const failed = machine._lua_pcallk(state, args.length, ALL_RESULTS, 0, 0, 0) !== 0
      const first = FUNCTIONS.length + 1
      if (failed) throw new Error(String(this.#result(first)))
      const results: Buffer[] = []
      for (let at = first; at <= machine._lua_gettop(state); at++) results.push(this.#result(at))
      return results
    } finally {
      machine._lua_settop(state, FUNCTIONS.length)
    }
  }

  #push(args: readonly Value[]): void {
    const machine = this.#machine
    for (const arg of args) {
      if (typeof arg === 'number') machine._lua_pushnumber(this.#state, arg)
      else {
        const bytes = typeof arg === 'string' ? Buffer.from(arg) : arg
        const at = this.#room(bytes.length)
        machine.HEAPU8.set(bytes, at)
        machine._lua_pushlstring(this.#state, at, bytes.length)
      }
    }
  }

  #room(bytes: number): number {
    if (bytes > this.#scratch.bytes) {
      this.#machine._free(this.#scratch.at)
      const size = Math.max(bytes, SCRATCH_BYTES)
      const at = this.#machine._malloc(size)
      this.#scratch = { at, bytes: at === 0 ? 0 : size }
      if (at === 0) throw new Error('not enough memory')
    }
    return this.#scratch.at
  }

  #result(index: number): Buffer {
    const machine = this.#machine
    const at = machine._lua_tolstring(this.#state, index, this.#length)
    const length = at === 0 ? 0 : (machine.HEAPU32[this.#length >> 2] ?? 0)
    return Buffer.from(machine.HEAPU8.subarray(at, at + length))
  }
}
