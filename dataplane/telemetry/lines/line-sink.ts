/** Writes lines of text to a file descriptor: gathered in pages, in the background, dropped beyond a bound. */
import sonicBoom from 'sonic-boom'

const PAGE_BYTES = 65_536
const WAITING_BYTES_MAX = 8_388_608
/** A line waits no longer than this for others to share its write. */
const GATHER_MS = 100

/**
 * Lines are encoded once, into a page of bytes; strings would be measured again with every line.
 * test/bench/micro/line-sink.ts: 0.3 us and 10 MiB, strings 1.0 us and 27 MiB.
 */
export class LineSink {
  readonly #out: sonicBoom.SonicBoom
  #page = Buffer.allocUnsafe(PAGE_BYTES)
  #used = 0

  constructor(descriptor: number, onDrop: () => void) {
    this.#out = new sonicBoom.SonicBoom({
      fd: descriptor,
      contentMode: 'buffer',
      maxLength: WAITING_BYTES_MAX,
      sync: false,
    })
    this.#out.on('drop', onDrop)
    // A closed pipe must not end the gateway.
    this.#out.on('error', onDrop)
    setInterval(() => this.#turnPage(), GATHER_MS).unref()
  }

  write(line: string): void {
    // No character takes more than three bytes of UTF-8 for each of its units.
    if (line.length * 3 > PAGE_BYTES - this.#used) this.#turnPage()
    if (line.length * 3 > PAGE_BYTES) this.#send(Buffer.from(line))
    else this.#used += this.#page.write(line, this.#used)
  }

  /** Writes everything before it returns; for the end of the process. */
  flush(): void {
    this.#turnPage()
    this.#out.flushSync()
  }

  #turnPage(): void {
    if (this.#used === 0) return
    this.#send(this.#page.subarray(0, this.#used))
    this.#page = Buffer.allocUnsafe(PAGE_BYTES)
    this.#used = 0
  }

  #send(bytes: Buffer): void {
    // The library's types know only text; in this mode it takes bytes.
    this.#out.write(bytes as unknown as string)
  }
}
