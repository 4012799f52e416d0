/** A thread that says that it is ready and ends with an error when it is spoken to. */
import { parentPort } from 'node:worker_threads'

parentPort?.once('message', (word) => {
  if (word === 'close') parentPort?.close()
})
parentPort?.postMessage({ kind: 'ready' })
setImmediate(() => {
  throw new Error('no more')
})
