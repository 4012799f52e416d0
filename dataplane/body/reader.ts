/** Collects the bytes of one body until it is complete, too large, too late, or out of room. */

import type { Deadline, Deadlines } from '../base/clock.ts'
import { GatewayError } from '../base/errors.ts'
import { Gathered } from '../base/gathered.ts'
import type { BodyTaker } from '../call/call.ts'
import type { HeldBody } from './bodies.ts'

export interface BodyReading {
  /** The Content-Length of the head. */
  readonly expected: number | undefined
  readonly bytesMax: number
  readonly held: HeldBody
  readonly deadlines: Deadlines
  /** Deadline on the monotonic clock. */
  readonly dueAt: number
  /** Called a few times with the first bytes while they arrive. Throws GatewayError if the rest is not needed. */
  readonly look?: ((beginning: Buffer) => void) | undefined
  /** The refusal if there is no room for the rest. */
  noRoom(obstacle: 'process' | 'tenant'): GatewayError
}

export class BodyReader implements BodyTaker, Deadline {
  sated = false
  seat = -1
  due: number
  readonly whole: Promise<Buffer>
  readonly #reading: BodyReading
  #gathered: Gathered
  readonly #beginning: Beginning | undefined
  #resolve: (bytes: Buffer) => void = () => {}
  #reject: (why: GatewayError) => void = () => {}

  constructor(reading: BodyReading) {
    this.#reading = reading
    this.#gathered = new Gathered(reading)
    this.#beginning = reading.look && new Beginning(reading.look)
    this.due = reading.dueAt
    this.whole = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    reading.deadlines.add(this)
  }

  data(piece: Buffer): void {
    if (this.sated) return
    const { bytesMax, held } = this.#reading
    if (this.#gathered.length + piece.length > bytesMax) {
      this.#refuse(tooLarge(bytesMax))
      return
    }
    const obstacle = held.grow(piece.length, bytesMax)
    const why =
      obstacle === undefined ? this.#beginning?.add(piece) : this.#reading.noRoom(obstacle)
    if (why === undefined) this.#gathered.add(piece)
    else this.#refuse(why)
  }

  ended(): void {
    this.#reading.deadlines.remove(this)
    if (!this.sated) this.#resolve(this.#gathered.take())
  }

  broken(why: GatewayError): void {
    this.#refuse(why)
  }

  expire(): void {
    const why = 'The request was not received in time.'
    this.#refuse(new GatewayError('ERR_GW_REQUEST_TIMEOUT', why))
  }

  /** The rest is read and dropped, because a client that is still sending does not read the refusal. */
  #refuse(why: GatewayError): void {
    this.sated = true
    this.#reading.deadlines.remove(this)
    this.#gathered = new Gathered({})
    this.#reject(why)
  }
}

const FIRST_LOOK_BYTES = 1_024
const BEGINNING_BYTES = 16_384

/** Inspects the first bytes of a body each time their number has doubled, because pieces may be tiny. */
class Beginning {
  readonly #look: (beginning: Buffer) => void
  #bytes = NOTHING
  #length = 0
  #nextAt = FIRST_LOOK_BYTES

  constructor(look: (beginning: Buffer) => void) {
    this.#look = look
  }

  /** The refusal, if the bytes so far already decide it. */
  add(piece: Buffer): GatewayError | undefined {
    if (this.#nextAt > BEGINNING_BYTES) return undefined
    if (this.#length === 0) this.#bytes = Buffer.allocUnsafe(BEGINNING_BYTES)
    this.#length += piece.copy(this.#bytes, this.#length)
    if (this.#length < this.#nextAt) return undefined
    while (this.#nextAt <= this.#length) this.#nextAt *= 2
    try {
      this.#look(this.#bytes.subarray(0, this.#length))
    } catch (error) {
      if (error instanceof GatewayError) return error
      throw error
    } finally {
      if (this.#nextAt > BEGINNING_BYTES) this.#bytes = NOTHING
    }
    return undefined
  }
}

const NOTHING = Buffer.alloc(0)

export function tooLarge(bytesMax: number): GatewayError {
  return new GatewayError(
    'ERR_GW_REQUEST_TOO_LARGE',
    `The body is larger than ${bytesMax} bytes; send less.`,
    { facts: { limit: bytesMax }, final: true },
  )
}
