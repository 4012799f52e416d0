/** A thread that is ready unless something is at the path of its socket, and ends with an error when the test says so. */
import { existsSync } from 'node:fs'
import { BroadcastChannel, parentPort, workerData } from 'node:worker_threads'

const channel = new BroadcastChannel('end the thread')
if (existsSync(workerData.socket)) {
  channel.postMessage('refused')
  channel.close()
  parentPort?.postMessage({ kind: 'refused', message: 'not now', isState: false })
} else {
  channel.onmessage = () => {
    throw new Error('no more')
  }
  parentPort?.once('message', () => process.exit())
  parentPort?.postMessage({ kind: 'ready' })
}
