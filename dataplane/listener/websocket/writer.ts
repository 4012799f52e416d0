/** Writes the frames of one WebSocket; those of one turn of the event loop are sent together. */
import type { Socket } from 'node:net'
import { type HeldWrites, turnEnd } from '../../base/turn-end.ts'
import { closePayload, frameOf, OPCODE } from '../../websocket/frames.ts'

/** A client that does not read gets no more pings and pongs above this. */
const UNTAKEN_BYTES_MAX = 65_536
const NOTHING = Buffer.alloc(0)

export class FrameWriter implements HeldWrites {
  isHeld = false
  readonly #socket: Socket
  readonly #flushed: () => void
  /** Between the first and the last part of a text. */
  #isInText = false
  /** Texts that wait for the end of a divided text. */
  #postponed: Buffer[] = []

  /** `flushed`: the socket has the held frames. */
  constructor(socket: Socket, flushed: () => void) {
    this.#socket = socket
    this.#flushed = flushed
  }

  /** A text, or a part of one. */
  text(payload: Buffer, isFirst: boolean, isLast: boolean): void {
    if (isFirst && this.#isInText) {
      this.#postponed.push(payload)
      return
    }
    this.#isInText = !isLast
    this.#write(isFirst ? OPCODE.text : OPCODE.more, payload, isLast)
    if (isLast) for (const one of this.#postponed.splice(0)) this.#write(OPCODE.text, one)
  }

  /** A pong if there is a ping to answer. */
  ping(answered?: Buffer): void {
    if (this.#socket.writableLength > UNTAKEN_BYTES_MAX) return
    this.#write(answered === undefined ? OPCODE.ping : OPCODE.pong, answered ?? NOTHING)
  }

  close(code: number, reason: string): void {
    this.#write(OPCODE.close, closePayload(code, reason))
  }

  flush(): void {
    this.isHeld = false
    this.#socket.uncork()
    this.#flushed()
  }

  #write(opcode: number, payload: Buffer, isLast = true): void {
    if (!this.#socket.writable) return
    if (!this.isHeld) {
      this.isHeld = true
      this.#socket.cork()
      turnEnd.hold(this)
    }
    this.#socket.write(frameOf({ opcode, isLast, payload }))
  }
}
