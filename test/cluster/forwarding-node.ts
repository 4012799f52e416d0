/** A node whose kubelet forwards ports of pods that are local processes, and serves their logs. */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { makeAuthority } from '../helpers/kubernetes/authority.ts'
import type { OperatorRig } from './operator-rig.ts'

const NODE = 'forwarding-node'
const SUBPROTOCOL = 'v4.channel.k8s.io'
/** Of RFC 6455. */
const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
const PORTS: Readonly<Record<string, 'adminUrl' | 'url'>> = { 9091: 'adminUrl', 8080: 'url' }

export interface ForwardingNode {
  /** Pods with forwarded ports. */
  readonly forwarded: string[]
  /** Assigns all running pods to this node. */
  adoptPods(): Promise<void>
  stop(): Promise<void>
}

export async function startForwardingNode(rig: OperatorRig): Promise<ForwardingNode> {
  const folder = await mkdtemp(join(tmpdir(), 'gw-node-'))
  const authority = await makeAuthority(folder)
  const pair = await authority.server('kubelet', 'IP:127.0.0.1')
  const [cert, key] = await Promise.all([readFile(pair.certificate), readFile(pair.key)])
  const forwarded: string[] = []
  const server = createServer({ cert, key }, (request, response) => giveLog(rig, request, response))
  server.on('upgrade', (request: IncomingMessage, socket: Duplex) => {
    const [, , , pod = ''] = (request.url ?? '').split(/[/?]/)
    const port = new URL(request.url ?? '', 'http://node').searchParams.get('port') ?? ''
    const running = rig.kubelet.pods().find(({ name }) => name === pod)
    const member = PORTS[port]
    if (running === undefined || member === undefined) return void socket.destroy()
    forwarded.push(pod)
    accept(request, socket)
    forward(socket, Number(port), running[member])
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  // A server that listens on a port has an address of this type.
  const { port } = server.address() as AddressInfo
  await register(rig, port)
  return {
    forwarded,
    async adoptPods() {
      for (const { name } of rig.kubelet.pods()) {
        const path = `/api/v1/namespaces/ai/pods/${name}/binding`
        const target = { apiVersion: 'v1', kind: 'Node', name: NODE }
        const binding = { apiVersion: 'v1', kind: 'Binding', metadata: { name }, target }
        await rig.cluster.kubectl(['create', '--raw', path, '-f', '-'], {
          stdin: JSON.stringify(binding),
        })
      }
    },
    async stop() {
      server.close()
      server.closeAllConnections()
      await rm(folder, { recursive: true })
    },
  }
}

/** The log of a container that has ended, as a kubelet keeps it for a restarted pod. */
export const ENDED = '{"time":"2026-01-01T00:00:00.000Z","event":"request","request_id":"ended-1"}'

/**
 * `/containerLogs/NAMESPACE/POD/CONTAINER`: the last lines, and new lines with `follow`. With `previous`: the first pod
 * restarted, the others did not.
 */
function giveLog(rig: OperatorRig, { url }: IncomingMessage, response: ServerResponse): void {
  const { pathname, searchParams } = new URL(url ?? '', 'http://node')
  const [, , , pod, container] = pathname.split('/')
  const running = rig.kubelet.pods().find(({ name }) => name === pod)
  if (running === undefined || container !== 'gateway') return void response.writeHead(404).end()
  if (searchParams.get('previous') === 'true') {
    const isRestarted = running === rig.kubelet.pods()[0]
    const missing = `previous terminated container "gateway" in pod "${pod}" not found`
    return void response.writeHead(isRestarted ? 200 : 400).end(isRestarted ? ENDED : missing)
  }
  const whole = running.output()
  const tail = Number(searchParams.get('tailLines') ?? Number.POSITIVE_INFINITY)
  const past = tail === 0 ? [] : whole.trimEnd().split('\n').slice(-tail)
  response.write(past.map((line) => `${line}\n`).join(''))
  if (searchParams.get('follow') !== 'true') return void response.end()
  let sent = whole.length
  const timer = setInterval(() => {
    const now = running.output()
    if (now.length > sent) response.write(now.slice(sent))
    sent = now.length
  }, 100)
  response.on('close', () => clearInterval(timer))
}

async function register({ cluster }: OperatorRig, port: number): Promise<void> {
  const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: NODE } }
  await cluster.kubectl(['apply', '-f', '-'], { stdin: JSON.stringify(node) })
  const status = {
    addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
    daemonEndpoints: { kubeletEndpoint: { Port: port } },
  }
  const patch = JSON.stringify({ status })
  await cluster.kubectl([
    'patch',
    'node',
    NODE,
    '--subresource=status',
    '--type=merge',
    '-p',
    patch,
  ])
}

function accept({ headers }: IncomingMessage, socket: Duplex): void {
  const key = `${headers['sec-websocket-key']}${GUID}`
  const lines = [
    'HTTP/1.1 101 Switching Protocols',
    'Upgrade: websocket',
    'Connection: Upgrade',
    `Sec-WebSocket-Accept: ${createHash('sha1').update(key).digest('base64')}`,
    `Sec-WebSocket-Protocol: ${SUBPROTOCOL}`,
  ]
  socket.write(`${lines.join('\r\n')}\r\n\r\n`)
}

/** Channel 0 transports data and channel 1 errors; each begins with the port number. */
function forward(socket: Duplex, port: number, url: string): void {
  const named = Buffer.from([port & 0xff, port >> 8])
  for (const channel of [0, 1])
    socket.write(frameOf(Buffer.concat([Buffer.from([channel]), named])))
  const target = connect(Number(new URL(url).port), '127.0.0.1')
  target.on('data', (data: Buffer) =>
    socket.write(frameOf(Buffer.concat([Buffer.from([0]), data]))),
  )
  target.on('close', () => socket.end())
  target.on('error', () => socket.destroy())
  socket.on('error', () => target.destroy())
  socket.on('close', () => target.destroy())
  let rest: Buffer = Buffer.alloc(0)
  socket.on('data', (data: Buffer) => {
    rest = Buffer.concat([rest, data])
    for (;;) {
      const frame = readFrame(rest)
      if (frame === undefined) return
      rest = frame.rest
      if (frame.opcode === 8) return void socket.end()
      if (frame.payload[0] === 0 && frame.payload.length > 1)
        target.write(frame.payload.subarray(1))
    }
  })
}

function frameOf(payload: Buffer): Buffer {
  const isShort = payload.length < 126
  const head = isShort
    ? Buffer.from([0x82, payload.length])
    : Buffer.from([0x82, 127, 0, 0, 0, 0, 0, 0, 0, 0])
  if (!isShort) head.writeBigUInt64BE(BigInt(payload.length), 2)
  return Buffer.concat([head, payload])
}

/** Clients mask their frames. */
function readFrame(bytes: Buffer) {
  if (bytes.length < 2) return undefined
  const short = (bytes[1] ?? 0) & 0x7f
  const more = short === 126 ? 2 : short === 127 ? 8 : 0
  if (bytes.length < 6 + more) return undefined
  const length =
    more === 0 ? short : more === 2 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2))
  const start = 6 + more
  if (bytes.length < start + length) return undefined
  const mask = bytes.subarray(start - 4, start)
  const payload = Buffer.from(bytes.subarray(start, start + length))
  for (let index = 0; index < payload.length; index++) {
    payload[index] = (payload[index] ?? 0) ^ (mask[index % 4] ?? 0)
  }
  return { opcode: (bytes[0] ?? 0) & 0x0f, payload, rest: bytes.subarray(start + length) }
}
