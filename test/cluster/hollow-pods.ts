/** Hundreds of pods in one process: they accept and acknowledge documents, and serve no clients. */

import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'
import { hashOf, type KeyRecord, keysHashOf } from '../../dataplane/delivery/signed.ts'
import { valueBelow } from '../../dataplane/json/values.ts'
import { ApiClient } from '../../operator/kube/api.ts'
import { openCluster } from '../../operator/kube/cluster.ts'
import { GATEWAY_LABEL } from '../../operator/kube/names.ts'
import { type KubeObject, RESOURCES } from '../../operator/kube/objects.ts'
import { Reflector } from '../../operator/kube/watch/reflector.ts'
import { ObjectStore } from '../../operator/kube/watch/store.ts'
import { PUSH_ADDRESS_ANNOTATION } from './local-pods.ts'

const MANAGER = 'hollow-pods'

export interface HollowPods {
  /** Pods that have a configuration and keys. */
  programmed(): number
  stop(): Promise<void>
}

interface HollowPod {
  configuration: object
  keys: { hash: string | null; setHash?: string; sequence: number }
  /** The pod needs them only to compute the hash after a change of keys. */
  readonly records: Map<string, KeyRecord>
}

/** From now on, pods of gateways without a process appear to run. */
export async function startHollowPods(kubeconfig: string): Promise<HollowPods> {
  const api = new ApiClient({ cluster: await openCluster({ env: process.env, kubeconfig }) })
  const pods = new Map<string, HollowPod>()
  const server = createServer((request, response) => {
    // Each pod has a separate address in 127/8.
    const address = request.socket.localAddress ?? ''
    const pod = pods.get(address) ?? { configuration: {}, keys: NO_KEYS, records: new Map() }
    pods.set(address, pod)
    void answer(pod, request, response)
  })
  // Like a real pod, it keeps the operator's connection open between two checks.
  server.keepAliveTimeout = 60_000
  server.listen(0)
  await once(server, 'listening')
  // A server that listens on a port has an address of this type.
  const { port } = server.address() as AddressInfo
  const store = new ObjectStore()
  const seen = new Set<string>()
  const pending: KubeObject[] = []
  store.onChange((_before, after) => {
    if (after === undefined || seen.has(after.metadata.uid ?? '')) return
    seen.add(after.metadata.uid ?? '')
    pending.push(after)
  })
  const reflector = new Reflector({
    api,
    store,
    resource: RESOURCES.pods,
    selection: { labelSelector: GATEWAY_LABEL },
    random: Math.random,
  })
  reflector.start()
  let isOver = false
  const registering = (async () => {
    for (let count = 0; !isOver; ) {
      const pod = pending.shift()
      if (pod === undefined) await new Promise((resolve) => setTimeout(resolve, 50))
      else await register(api, pod, `${addressOf(++count)}:${port}`).catch(() => undefined)
    }
  })()
  return {
    programmed: () => [...pods.values()].filter((pod) => pod.keys.sequence > 0).length,
    async stop() {
      isOver = true
      await registering
      await reflector.stop()
      await api.close()
      server.close()
      server.closeAllConnections()
    },
  }
}

const NO_KEYS = { hash: null, sequence: 0 }

function addressOf(count: number): string {
  return `127.${10 + (count >> 16)}.${(count >> 8) & 0xff}.${count & 0xff}`
}

async function register(api: ApiClient, { metadata }: KubeObject, address: string): Promise<void> {
  const { name, namespace = '', uid = '' } = metadata
  const place = { name, namespace, uid }
  const annotations = { [PUSH_ADDRESS_ANNOTATION]: address }
  await api.apply(RESOURCES.pods, { metadata: { ...place, annotations } }, { manager: MANAGER })
  const lastTransitionTime = `${new Date().toISOString().slice(0, 19)}Z`
  const conditions = ['Ready', 'ContainersReady'].map((type) => ({
    type,
    status: 'True',
    lastTransitionTime,
  }))
  const status = { phase: 'Running', podIP: '10.0.0.1', podIPs: [{ ip: '10.0.0.1' }], conditions }
  const options = { manager: MANAGER, subresource: 'status' }
  await api.apply(RESOURCES.pods, { metadata: place, status }, options)
}

async function answer(pod: HollowPod, request: IncomingMessage, response: ServerResponse) {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  response.writeHead(200, { 'content-type': 'application/json' })
  response.end(JSON.stringify(take(pod, request, Buffer.concat(chunks))))
}

function take(pod: HollowPod, { method, url, headers }: IncomingMessage, bytes: Buffer): object {
  if (method !== 'PUT') return { configuration: pod.configuration, keys: pod.keys }
  const text = (headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes).toString()
  const envelope = JSON.parse(text)
  const document = JSON.parse(envelope.document)
  const { sequence, generation } = document
  if (url === '/config') {
    const hash = hashOf(document.payload)
    const documentHash = envelope.sha256
    pod.configuration = { hash, documentHash, sequence, generation, newestSequence: sequence }
    return { hash, sequence, generation }
  }
  if (valueBelow(document, 'changes') === undefined) pod.records.clear()
  for (const record of document.keys ?? document.changes.put) pod.records.set(record.hash, record)
  for (const hash of document.changes?.remove ?? []) pod.records.delete(hash)
  const setHash = keysHashOf(pod.records.values())
  pod.keys = { hash: setHash, setHash, sequence }
  return pod.keys
}
