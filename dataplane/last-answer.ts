/** The last answer of a connection: it must arrive although the client may still be sending. */
import type { Socket } from 'node:net'

const LAST = Symbol('last answer')

type Connection = Socket & { [LAST]?: true }

/** A client that does not close for this long behind its last answer is cut. */
const LINGER_MS = 5000

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
  }
}

/** Whether what still arrives is thrown away: it may be a part of a request that was refused. */
export function isLastAnswered(connection: Connection): boolean {
  return connection[LAST] === true
}
