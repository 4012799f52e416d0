/** A client's chunked body, read as strictly as by Node's parser: no blank, no unusual extension, no folded trailer. */
import { GatewayError } from '../../base/errors.ts'
import { ChunkReader, type ChunkRules, type ChunkSink } from '../../http1/chunks.ts'
import { HEADER_LINES } from '../../http1/header-lines.ts'
import { HEADER_BYTES_MAX, rawRefusal } from '../raw-refusal.ts'

const TOKEN = "[!#$%&'*+\\-.^_`|~0-9A-Za-z]+"
const QUOTED = '"(?:[\\t !#-\\[\\]-~\\x80-\\xff]|\\\\[\\t -~\\x80-\\xff])*"'
const VALUE = `(?:${TOKEN}|${QUOTED})?`
/** Trailers that would change the end of the body. */
const FRAMING = /^(?:content-length|transfer-encoding):/i

/** A name or a value is required. */
const EXTENSION = `;(?:${TOKEN}(?:=${VALUE})?|=${VALUE})`

/** Some senders sign every chunk in an extension; a megabyte of them is an attack. */
const EXTENSIONS_MAX = 1_048_576

const RULES: ChunkRules = {
  sizeLine: new RegExp(`^(0*[0-9a-fA-F]{1,13})(?:${EXTENSION})*\\r\\n$`),
  sizeLineMax: HEADER_BYTES_MAX,
  extensionsMax: EXTENSIONS_MAX,
  trailersMax: HEADER_BYTES_MAX,
  isTrailer: (line) => HEADER_LINES.test(line) && !FRAMING.test(line),
  malformed: () => rawRefusal(undefined),
  tooLong: () => rawRefusal('HPE_HEADER_OVERFLOW'),
}

export class ChunkedBody implements ChunkSink {
  readonly stopped = false
  readonly joins = true
  /** Why the rest cannot be read. */
  fault: GatewayError | undefined
  readonly #reader = new ChunkReader(RULES, this)
  readonly #data: Buffer[] = []

  /** Continues from an offset; returns the offset after the body's bytes. */
  read(bytes: Buffer, from: number): number {
    try {
      return this.#reader.read(bytes, from)
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error
      this.fault = error
      return bytes.length
    }
  }

  /** The data since the last call. */
  take(): Buffer {
    const [first = NOTHING, ...others] = this.#data.splice(0)
    return others.length === 0 ? first : Buffer.concat([first, ...others])
  }

  get takesMore(): boolean {
    return !this.#reader.complete && this.fault === undefined
  }

  onData(bytes: Buffer): void {
    this.#data.push(bytes)
  }
}

const NOTHING = Buffer.alloc(0)
