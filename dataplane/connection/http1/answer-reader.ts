/** Splits the bytes of a connection into answers, for pieces of any size. */
import { ChunkReader, type ChunkRules, type ChunkSink } from '../../http1/chunks.ts'
import { HEADER_LINES } from '../../http1/header-lines.ts'
import { type AnswerHead, parseAnswerHead } from './answer-head.ts'
import { cut, malformed, tooLong } from './wire-error.ts'

/** The receiver of an answer. */
export interface AnswerSink extends ChunkSink {
  onHead(head: AnswerHead): void
}

type AnswerState = 'head' | 'length' | 'close' | 'chunks' | 'complete'

/** Head and trailers, each. */
const HEAD_BYTES_MAX = 65_536
/** Most heads are shorter; longer ones are searched for in more bytes. */
const HEAD_BYTES_USUAL = 2048
const CRLF = '\r\n'
const HEAD_END = '\r\n\r\n'
const HEAD_END_BYTES = Buffer.from(HEAD_END)
const HEAD_START = 'HTTP/1.'
const BARE_LF = /(?<!\r)\n/g

/** Old servers put blanks after a size; extensions have no meaning here. */
const CHUNKS: ChunkRules = {
  sizeLine: /^([0-9a-fA-F]{1,13})[\t ]*(?:;[\t -~\x80-\xff]*)?\r\n$/,
  sizeLineMax: 4096,
  extensionsMax: Number.POSITIVE_INFINITY,
  trailersMax: HEAD_BYTES_MAX,
  isTrailer: (line) => HEADER_LINES.test(line),
  malformed,
  tooLong: () => tooLong('Headers Overflow Error'),
}

export class AnswerReader {
  readonly #sink: AnswerSink
  #state: AnswerState = 'head'
  /** Text of an incomplete head or line. */
  #text = ''
  /** Bytes of the body that are still to come. */
  #left = 0
  #chunks: ChunkReader | undefined

  constructor(sink: AnswerSink) {
    this.#sink = sink
  }

  /** Prepares for the next answer. */
  begin(): void {
    this.#state = 'head'
    this.#text = ''
  }

  /** Reads from an offset to the end of the chunk or of the answer, or until the sink stops. Returns the new offset. */
  read(chunk: Buffer, from: number): number {
    let at = from
    while (at < chunk.length && !this.#isOver() && !this.#sink.stopped) {
      at = this.#step(chunk, at)
    }
    if (this.#isOver() && !this.#sink.stopped) this.#state = 'complete'
    return at
  }

  /** Whether the whole answer was read; further bytes are unexpected. */
  get complete(): boolean {
    return this.#state === 'complete'
  }

  /** Notes a proper end of the connection; throws if the answer is incomplete. */
  finish(): void {
    if (this.#state !== 'close') throw cut()
    this.#state = 'complete'
  }

  /** Whether a byte of the answer has been seen. */
  get begun(): boolean {
    return this.#state !== 'head' || this.#text !== ''
  }

  #isOver(): boolean {
    if (this.#state === 'length') return this.#left === 0
    return this.#state === 'chunks' ? this.#chunks?.complete === true : this.#state === 'complete'
  }

  #step(chunk: Buffer, at: number): number {
    if (this.#state === 'head') return this.#readHead(chunk, at)
    if (this.#state === 'chunks') return this.#chunks?.read(chunk, at) ?? at
    const end = this.#state === 'close' ? chunk.length : Math.min(chunk.length, at + this.#left)
    this.#left -= end - at
    this.#sink.onData(at === 0 && end === chunk.length ? chunk : chunk.subarray(at, end))
    return end
  }

  #readHead(chunk: Buffer, at: number): number {
    const earlier = this.#text.length
    const whole = earlier === 0 ? chunk.indexOf(HEAD_END_BYTES, at) : -1
    if (whole !== -1 && whole - at <= HEAD_BYTES_USUAL) {
      // The bytes of the body in this text are not used.
      this.#enter(parseAnswerHead(chunk.toString('latin1', at, whole + CRLF.length)))
      return whole + HEAD_END.length
    }
    const usual = chunk.toString('latin1', at, Math.min(chunk.length, at + HEAD_BYTES_USUAL))
    let end = this.#headEnd(usual, earlier)
    if (end === -1 && at + HEAD_BYTES_USUAL < chunk.length) {
      this.#text = this.#text.slice(0, earlier)
      end = this.#headEnd(
        chunk.toString('latin1', at, Math.min(chunk.length, at + HEAD_BYTES_MAX)),
        earlier,
      )
    }
    if (end === -1) {
      if (this.#text.length >= HEAD_BYTES_MAX) throw tooLong('Headers Overflow Error')
      if (!mayBecomeHead(this.#text, earlier)) throw malformed('It does not speak HTTP/1.1.')
      return chunk.length
    }
    if (end > HEAD_BYTES_MAX) throw tooLong('Headers Overflow Error')
    const text = this.#text.slice(0, end + CRLF.length)
    this.#text = ''
    this.#enter(parseAnswerHead(text))
    return at + end + HEAD_END.length - earlier
  }

  /** Appends a text; returns the start of the empty line, or -1. A head in tiny pieces is searched only at ends of lines. */
  #headEnd(text: string, earlier: number): number {
    this.#text = earlier === 0 ? text : this.#text + text
    if (!text.includes('\n')) return -1
    return this.#text.indexOf(HEAD_END, Math.max(0, earlier - HEAD_END.length))
  }

  #enter(head: AnswerHead): void {
    const { framing, status, length } = head
    if (status < 200) {
      this.#sink.onHead(head)
      return
    }
    this.#state = framing === 'chunked' ? 'chunks' : framing
    this.#left = length
    this.#chunks = framing === 'chunked' ? new ChunkReader(CHUNKS, this.#sink) : undefined
    this.#sink.onHead(head)
  }
}

/** Whether the text may become a head; otherwise its end would never come. The text before `from` was checked. */
function mayBecomeHead(text: string, from: number): boolean {
  if (!HEAD_START.startsWith(text.slice(0, HEAD_START.length))) return false
  BARE_LF.lastIndex = from
  return !BARE_LF.test(text)
}
