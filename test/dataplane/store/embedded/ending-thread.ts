/** A thread that says that it is ready, and ends with an error when the test says so. */
import { BroadcastChannel, parentPort } from 'node:worker_threads'

const channel = new BroadcastChannel('end the thread')
channel.onmessage = () => {
  throw new Error('no more')
}
parentPort?.once('message', () => process.exit())
parentPort?.postMessage({ kind: 'ready' })
