/** Makes messages from the bytes of a stream of events: one of the data of each event, and a ping of each comment. */

export interface Messages {
  /** A message, or a part of one. */
  part(bytes: Buffer, isFirst: boolean, isLast: boolean): void
  ping(): void
  /** Members to put before those of the next event, as in `"stream_id":"a",`. */
  membersOfNext(): string
  /** Whether events of this name end an answer. */
  isLastEvent(name: string): boolean
  /** Such an event has been sent; with its data, unless that is longer than `keptMax`. */
  ended(data: Buffer | undefined): void
  readonly keptMax: number
}

const CR = 13
const LF = 10
const SPACE = 32
const OPEN_BRACE = 123
/** A line that is not data is longer only by mistake. */
const LINE_BYTES_MAX = 256
const DATA = 'data:'
const EVENT = 'event:'
const NOTHING = Buffer.alloc(0)
const NEW_LINE = Buffer.from('\n')

export class EventMessages {
  readonly #to: Messages
  /** The start of a line of unknown kind. */
  #begun = NOTHING
  #line: 'new' | 'data' | 'other' = 'new'
  #endedWithCr = false
  #name = ''
  /** Unsent data of the event. */
  #parts: Buffer[] = []
  /** All data of a last event. */
  #kept: Buffer[] = []
  #keptBytes = 0
  #isLastEvent = false
  #event: 'empty' | 'data' | 'not an object' = 'empty'
  /** A part of the present message has been sent. */
  isOpen = false

  constructor(to: Messages) {
    this.#to = to
  }

  write(piece: Buffer): void {
    let at = this.#endedWithCr && piece[0] === LF ? 1 : 0
    this.#endedWithCr = false
    let [cr, lf] = [piece.indexOf(CR), piece.indexOf(LF)]
    while (at < piece.length) {
      if (cr !== -1 && cr < at) cr = piece.indexOf(CR, at)
      if (lf !== -1 && lf < at) lf = piece.indexOf(LF, at)
      const end = Math.min(cr === -1 ? piece.length : cr, lf === -1 ? piece.length : lf)
      this.#take(piece.subarray(at, end), end < piece.length)
      at = end + (end === cr && lf === cr + 1 ? 2 : 1)
      this.#endedWithCr = end === cr && at === piece.length && lf !== cr + 1
    }
    if (this.#parts.length > 0) this.#send(false)
  }

  /** A line, or a part of one. */
  #take(text: Buffer, isWhole: boolean): void {
    if (this.#line === 'new') this.#begin(text, isWhole)
    else if (this.#line === 'data') this.#data(text)
    if (isWhole) this.#line = 'new'
  }

  #begin(text: Buffer, isWhole: boolean): void {
    const line = this.#begun.length === 0 ? text : Buffer.concat([this.#begun, text])
    const isData = startsWith(line, DATA)
    const isKnown = isWhole || (isData && line.length > DATA.length) || line.length > LINE_BYTES_MAX
    this.#begun = isKnown ? NOTHING : Buffer.from(line)
    if (!isKnown) return
    this.#line = isData ? 'data' : 'other'
    if (isData) {
      if (this.#event === 'data') this.#add(NEW_LINE)
      this.#data(line.subarray(DATA.length + (line[DATA.length] === SPACE ? 1 : 0)))
    } else if (line.length === 0) this.#end()
    else if (startsWith(line, ':')) this.#to.ping()
    else if (startsWith(line, EVENT)) this.#name = line.toString('utf8', EVENT.length).trim()
  }

  #data(bytes: Buffer): void {
    if (this.#event === 'data') {
      this.#add(bytes)
      return
    }
    const start = bytes.findIndex((byte) => byte > SPACE)
    if (start === -1 || this.#event === 'not an object') return
    if (bytes[start] !== OPEN_BRACE) {
      this.#event = 'not an object'
      return
    }
    this.#event = 'data'
    this.#isLastEvent = this.#to.isLastEvent(this.#name)
    this.#parts.push(Buffer.from(`{${this.#to.membersOfNext()}`))
    this.#keep(bytes.subarray(start, start + 1))
    this.#add(bytes.subarray(start + 1))
  }

  #add(bytes: Buffer): void {
    this.#parts.push(bytes)
    this.#keep(bytes)
  }

  #keep(bytes: Buffer): void {
    if (!this.#isLastEvent) return
    this.#keptBytes += bytes.length
    if (this.#keptBytes > this.#to.keptMax) this.#kept = []
    else this.#kept.push(Buffer.from(bytes))
  }

  #end(): void {
    if (this.#event === 'data') this.#send(true)
    const data = this.#keptBytes > this.#to.keptMax ? undefined : Buffer.concat(this.#kept)
    const isLast = this.#isLastEvent
    this.#event = 'empty'
    this.#name = ''
    this.#kept = []
    this.#keptBytes = 0
    this.#isLastEvent = false
    if (isLast) this.#to.ended(data)
  }

  #send(isLast: boolean): void {
    const bytes = Buffer.concat(this.#parts)
    const isFirst = !this.isOpen
    this.#parts = []
    this.isOpen = !isLast
    this.#to.part(bytes, isFirst, isLast)
  }
}

function startsWith(line: Buffer, beginning: string): boolean {
  return line.toString('latin1', 0, beginning.length) === beginning
}
