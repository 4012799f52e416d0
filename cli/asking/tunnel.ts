/** A loopback port that leads to a port of a pod, through the API server, while the command runs. */
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { type Forward, openForward, type PodPort } from '../../operator/kube/cluster.ts'
import type { InCluster } from './place.ts'

export interface Tunnel {
  /** Origin without a path. */
  readonly url: string
  /** Why the API server opens no connection to the pod; undefined if it does. */
  fault(): string | undefined
  close(): void
}

export async function openTunnel(place: InCluster, to: PodPort): Promise<Tunnel> {
  const { kubeconfig, context } = place
  const forward: Forward = await openForward({ env: process.env, kubeconfig, context })
  const sockets = new Set<Socket>()
  let fault: string | undefined
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    // The reader of the answer notices the cut connection.
    socket.on('error', () => socket.destroy())
    forward(to, socket).catch((error: unknown) => {
      // The library rejects with the event of its WebSocket, which also has a message.
      fault = String(Object(error).message ?? error)
      socket.destroy()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  // A server that listens on a port has an address of this kind.
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    fault: () => fault,
    close() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}
