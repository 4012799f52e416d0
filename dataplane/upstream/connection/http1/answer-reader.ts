/** Cuts the bytes of a connection into answers, however they arrive. */
import { type AnswerHead, HEADER_LINES, parseAnswerHead } from './answer-head.ts'
import { cut, malformed, tooLong } from './wire-error.ts'

/** Where an answer goes to. */
export interface AnswerSink {
  onHead(head: AnswerHead): void
  onData(chunk: Buffer): void
  /** Whether nothing more is wanted, for now or at all. */
  readonly stopped: boolean
}

type State = 'head' | 'length' | 'close' | 'size' | 'chunk' | 'chunk end' | 'trailers' | 'complete'

/** Head and trailers, each. */
const HEAD_BYTES_MAX = 65_536
/** Of most heads; only a longer one is looked for in more. */
const HEAD_BYTES_USUAL = 2048
const SIZE_LINE_MAX = 4096
/** A size, and extensions that nobody reads. */
const SIZE_LINE = /^([0-9a-fA-F]{1,13})[\t ]*(?:;[\t -~\x80-\xff]*)?$/
const LF = 0x0a
const CRLF = '\r\n'
const HEAD_END = '\r\n\r\n'
const HEAD_START = 'HTTP/1.'
const BARE_LF = /(?<!\r)\n/g

export class AnswerReader {
  readonly #sink: AnswerSink
  #state: State = 'head'
  /** Text of a head or a line whose end has not come. */
  #text = ''
  /** Bytes of the body, or of the chunk, that are still to come. */
  #left = 0
  #trailerBytes = 0

  constructor(sink: AnswerSink) {
    this.#sink = sink
  }

  /** Gets ready for the answer to another request. */
  begin(): void {
    this.#state = 'head'
    this.#text = ''
  }

  /** Reads from an offset to the end of the chunk or of the answer, or until the sink wants no more. The offset reached. */
  read(chunk: Buffer, from: number): number {
    let at = from
    while (at < chunk.length && !this.#isOver() && !this.#sink.stopped) {
      at = this.#step(chunk, at)
    }
    if (this.#state === 'length' && this.#left === 0 && !this.#sink.stopped)
      this.#state = 'complete'
    return at
  }

  /** Whether the whole answer has been read; bytes that follow it were not asked for. */
  get complete(): boolean {
    return this.#state === 'complete'
  }

  /** The connection has ended properly; throws where the answer has not. */
  finish(): void {
    if (this.#state !== 'close') throw cut()
    this.#state = 'complete'
  }

  /** Whether a byte of the answer has been seen. */
  get begun(): boolean {
    return this.#state !== 'head' || this.#text !== ''
  }

  #isOver(): boolean {
    return this.#state === 'complete' || (this.#state === 'length' && this.#left === 0)
  }

  #step(chunk: Buffer, at: number): number {
    switch (this.#state) {
      case 'head':
        return this.#readHead(chunk, at)
      case 'length':
      case 'chunk':
        return this.#readBytes(chunk, at)
      case 'close':
        this.#sink.onData(at === 0 ? chunk : chunk.subarray(at))
        return chunk.length
      default:
        return this.#readLine(chunk, at)
    }
  }

  #readHead(chunk: Buffer, at: number): number {
    const earlier = this.#text.length
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

  /** Appends; where the empty line begins, or -1. A head that comes in drops is only looked through where a line ends. */
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
    this.#state = framing === 'chunked' ? 'size' : framing
    this.#left = length
    this.#trailerBytes = 0
    this.#sink.onHead(head)
  }

  #readBytes(chunk: Buffer, at: number): number {
    const end = Math.min(chunk.length, at + this.#left)
    this.#left -= end - at
    if (this.#left === 0 && this.#state === 'chunk') this.#state = 'chunk end'
    this.#sink.onData(at === 0 && end === chunk.length ? chunk : chunk.subarray(at, end))
    return end
  }

  #readLine(chunk: Buffer, at: number): number {
    const found = chunk.indexOf(LF, at)
    const end = found === -1 ? chunk.length : found + 1
    if (this.#text.length + end - at > this.#lineMax()) throw this.#lineTooLong()
    const line = this.#text + chunk.toString('latin1', at, end)
    if (found === -1) {
      this.#text = line
      return end
    }
    this.#text = ''
    if (!line.endsWith(CRLF)) throw malformed('A line of its body ends without CR.')
    if (this.#state === 'size') this.#readSize(line.slice(0, -2))
    else if (this.#state === 'trailers') this.#readTrailer(line)
    else if (line === CRLF) this.#state = 'size'
    else throw malformed('A chunk is longer than its size.')
    return end
  }

  #lineMax(): number {
    if (this.#state === 'chunk end') return CRLF.length
    return this.#state === 'size' ? SIZE_LINE_MAX : HEAD_BYTES_MAX - this.#trailerBytes
  }

  #lineTooLong(): Error {
    if (this.#state === 'trailers') return tooLong('Headers Overflow Error')
    return malformed(
      this.#state === 'size'
        ? 'The size of a chunk is too long.'
        : 'A chunk is longer than its size.',
    )
  }

  #readSize(line: string): void {
    const digits = SIZE_LINE.exec(line)?.[1]
    if (digits === undefined) throw malformed('The size of a chunk is no number.')
    this.#left = Number.parseInt(digits, 16)
    this.#state = this.#left === 0 ? 'trailers' : 'chunk'
  }

  #readTrailer(line: string): void {
    if (line === CRLF) {
      this.#state = 'complete'
      return
    }
    this.#trailerBytes += line.length
    if (!HEADER_LINES.test(line)) throw malformed('A trailer is malformed.')
  }
}

/** Of something else the end would never come. What stands before `from` has been looked at. */
function mayBecomeHead(text: string, from: number): boolean {
  if (!HEAD_START.startsWith(text.slice(0, HEAD_START.length))) return false
  BARE_LF.lastIndex = from
  return !BARE_LF.test(text)
}
