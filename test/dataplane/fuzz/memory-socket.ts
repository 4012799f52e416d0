/** A connection without a network: it has bytes to read, and ignores writes. */
import { Duplex } from 'node:stream'

export class MemorySocket extends Duplex {
  /** Read at once, then the end. */
  constructor(bytes: Buffer) {
    super()
    this.push(bytes)
    this.push(null)
  }

  override _read(): void {}

  override _write(_chunk: unknown, _encoding: unknown, done: () => void): void {
    done()
  }

  setTimeout(): this {
    return this
  }
  setNoDelay(): this {
    return this
  }
  setKeepAlive(): this {
    return this
  }
  ref(): this {
    return this
  }
  unref(): this {
    return this
  }
}
