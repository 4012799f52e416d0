/** Counts the bodies of each tenant that are being received or held, and the bytes of all of them. */
import { totalmem } from 'node:os'
import { getHeapStatistics } from 'node:v8'
import { LARGE_BYTES } from '../base/heavy-work.ts'

/** A body is in memory up to three times: as received, as sent, and as a tree. */
const MEMORY_PARTS = 8
const LARGEST_MIN = 4

/** Most bytes of bodies that a process with this memory may hold: an eighth, but at least four of the largest bodies. */
export function bodyBytesMax(memoryBytes: number, requestBytesMax: number): number {
  return Math.max(Math.floor(memoryBytes / MEMORY_PARTS), LARGEST_MIN * requestBytesMax)
}

/**
 * The memory that one of several processes may use: its part of the container's limit or of the machine's memory, and at
 * most what its heap allows.
 */
export function processMemory(processes = 1): number {
  const limit = process.constrainedMemory()
  const machine = totalmem()
  const memory = limit > 0 && limit < machine ? limit : machine
  return Math.min(memory / processes, 2 * getHeapStatistics().heap_size_limit)
}

interface Share {
  /** Requests that run a model, or will. */
  bodies: number
  /** The others, which need no slot. */
  free: number
  bytes: number
}

export class Bodies {
  readonly #memory: number
  readonly #tenants = new Map<string, Share>()
  #bytes = 0

  constructor(memoryBytes: number) {
    this.#memory = memoryBytes
  }

  /** Counts one more request of the tenant until the request leaves. `isFree`: it runs no model. */
  enter(tenant: string, isFree = false): HeldBody {
    let share = this.#tenants.get(tenant)
    if (share === undefined) {
      share = { bodies: 0, free: 0, bytes: 0 }
      this.#tenants.set(tenant, share)
    }
    const kind = isFree ? 'free' : 'bodies'
    share[kind]++
    return new HeldBody(this, { tenant, share, kind })
  }

  /** All bytes that are held. */
  get bytes(): number {
    return this.#bytes
  }

  /** Tenants with a request. */
  get tenants(): number {
    return this.#tenants.size
  }

  /** Why more bytes do not fit. One tenant may hold at most half, so that others have room. */
  obstacle(share: Share, more: number, requestBytesMax: number): 'process' | 'tenant' | undefined {
    const most = bodyBytesMax(this.#memory, requestBytesMax)
    if (share.bytes + more > most / 2) return 'tenant'
    return this.#bytes + more > most ? 'process' : undefined
  }

  add(share: Share, bytes: number): void {
    share.bytes += bytes
    this.#bytes += bytes
  }

  leave({ tenant, share, kind }: Entered, bytes: number): void {
    share.bytes -= bytes
    this.#bytes -= bytes
    share[kind]--
    if (share.bodies + share.free === 0) this.#tenants.delete(tenant)
  }
}

interface Entered {
  readonly tenant: string
  readonly share: Share
  readonly kind: 'bodies' | 'free'
}

/** One request from the moment its body is read until it is settled. */
export class HeldBody {
  readonly #all: Bodies
  readonly #entered: Entered
  readonly #share: Share
  #bytes = 0
  #isOver = false
  /** The body was refused early, while a large rest was still to come. */
  wasLonger = false

  constructor(all: Bodies, entered: Entered) {
    this.#all = all
    this.#entered = entered
    this.#share = entered.share
  }

  /** Number of the tenant's requests of its kind, including this one: those that run a model, or those that do not. */
  get neighbours(): number {
    return this.#share[this.#entered.kind]
  }

  /** The body is larger than bodies that arrive with their head. */
  get isLarge(): boolean {
    return this.wasLonger || this.#bytes > LARGE_BYTES
  }

  /** Why not even one more byte fits. */
  obstacle(requestBytesMax: number): 'process' | 'tenant' | undefined {
    return this.#all.obstacle(this.#share, 1, requestBytesMax)
  }

  /** Reserves room for more bytes of the body, or returns why there is not enough. */
  grow(bytes: number, requestBytesMax: number): 'process' | 'tenant' | undefined {
    const obstacle = this.#all.obstacle(this.#share, bytes, requestBytesMax)
    if (obstacle !== undefined || this.#isOver) return obstacle
    this.#bytes += bytes
    this.#all.add(this.#share, bytes)
    return undefined
  }

  leave(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#all.leave(this.#entered, this.#bytes)
  }
}
