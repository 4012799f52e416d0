/** The last answer of a connection: it must arrive although the client may still be sending. */
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'

const LAST = Symbol('last answer')

type Connection = Socket & { [LAST]?: true }

/** A client that does not close for this long behind its last answer is cut. */
const LINGER_MS = 5000
/** How often one of those that still send is read from. */
const TURN_MS = 10

/** Connections whose rest is thrown away: reading all of them at full speed would cost others more than an answer. */
const sending: Connection[] = []
let turns: NodeJS.Timeout | undefined

/**
 * Marks the answer under way as the last of its connection. Node closes when it is written; bytes that are still
 * arriving would then reset the connection, and a reset takes the answer away from a client that has not read it.
 */
export function answerLast(connection: Connection): void {
  if (isLastAnswered(connection)) return
  connection[LAST] = true
  connection.destroySoon = () => {
    connection.end()
    const timer = setTimeout(() => connection.destroy(), LINGER_MS)
    connection.once('close', () => clearTimeout(timer))
    // The end of the answer may still resume the connection.
    setImmediate(() => wait(connection))
  }
}

function wait(connection: Connection): void {
  if (connection.destroyed) return
  connection.pause()
  sending.push(connection)
  turns ??= setInterval(takeTurn, TURN_MS)
}

/** One of them is read from for one turn of the event loop. */
function takeTurn(): void {
  const connection = sending.shift()
  if (connection === undefined) {
    clearInterval(turns)
    turns = undefined
    return
  }
  connection.resume()
  setImmediate(() => wait(connection))
}

/** Whether what still arrives is thrown away: it may be a part of a request that was refused. */
export function isLastAnswered(connection: Duplex & { [LAST]?: true }): boolean {
  return connection[LAST] === true
}
