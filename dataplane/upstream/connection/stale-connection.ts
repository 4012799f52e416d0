/**
 * Tells a kept connection that its upstream gave up while it was idle from one that broke over a request. Both look the
 * same to undici: the other side closed. Here it is looked whether anything was read since the request was written.
 */
import type { Socket } from 'node:net'

const STALE = Symbol('stale')

/** To be called before anything else listens to the socket. */
export function watchStaleness(socket: Socket): void {
  const write: Write = socket.write
  let readBefore = 0
  const noticing: Write = (chunk, encoding, callback) => {
    readBefore = socket.bytesRead
    return write.call(socket, chunk, encoding, callback)
  }
  // Of its overloads this is the general one, and undici's way to call it.
  socket.write = noticing as Socket['write']
  socket.on('error', (error: Staleable) => {
    // Without an answer before it the connection was not kept, it was new.
    if (readBefore > 0 && socket.bytesRead === readBefore) error[STALE] = true
  })
}

/** For a connection that knows by itself what it has answered. */
export function markStale(error: Staleable): void {
  error[STALE] = true
}

/** Whether the connection had answered before, and nothing of an answer to this request has come. */
export function isStale(error: Error): boolean {
  return (error as Staleable)[STALE] === true
}

interface Staleable extends Error {
  [STALE]?: true
}

type Write = (
  this: Socket,
  chunk: string | Uint8Array,
  encoding?: BufferEncoding,
  callback?: (error?: Error | null) => void,
) => boolean
