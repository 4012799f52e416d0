/** Reads all connections into one buffer: each connection gets a copy of its bytes. */

/** Same size as Node's own reads. */
const BYTES = 65_536

const shared = Buffer.allocUnsafeSlow(BYTES)

/**
 * The reads of one connection. Its socket has the option `onread`, emits no data and buffers none.
 * test/bench/micro/shared-read.ts: 1.5 us less for an answer of 1.3 kB than with 64 KiB for each read.
 */
export class SharedReads {
  /** Set before the first byte can arrive: in the turn in which the connection opens. */
  take: (chunk: Buffer) => void = () => {}
  readonly onread = {
    buffer: shared,
    callback: (length: number): boolean => {
      const chunk = Buffer.allocUnsafe(length)
      shared.copy(chunk, 0, 0, length)
      this.take(chunk)
      return true
    },
  }
}
