/** The end of connections whose clients may still be sending: their last answers must arrive anyway. */
import type { Socket } from 'node:net'

/** Time for the client to close after its last answer, before the gateway cuts the connection. */
const LINGER_MS = 5000
/** Interval of reads from the lingering connections. */
const TURN_MS = 10

/** Reading from all of them at full speed would cost other clients more than an answer. */
const sending: Socket[] = []
let turns: NodeJS.Timeout | undefined

/**
 * Reads and drops the bytes that still arrive after the last answer, a little at a time, and then cuts the connection.
 * Closing it at once would reset it, and a reset discards an answer that the client has not read.
 */
export function linger(socket: Socket): void {
  const timer = setTimeout(() => socket.destroy(), LINGER_MS)
  socket.once('close', () => clearTimeout(timer))
  wait(socket)
}

function wait(socket: Socket): void {
  if (socket.destroyed) return
  socket.pause()
  sending.push(socket)
  turns ??= setInterval(takeTurn, TURN_MS)
}

/** Reads from one connection for one turn of the event loop. */
function takeTurn(): void {
  const socket = sending.shift()
  if (socket === undefined) {
    clearInterval(turns)
    turns = undefined
    return
  }
  socket.resume()
  setImmediate(() => wait(socket))
}
