/** The real gateway in front of a faulty provider, and its gauges. */
import assert from 'node:assert/strict'
import { aKey } from '../../helpers/a-key.ts'
import { type GatewayProcess, startGateway } from '../../helpers/gateway-process.ts'
import { until } from '../../helpers/until.ts'
import { RawSocket } from '../hostile/raw-socket.ts'
import { type FaultyProvider, type Service, startFaultyProvider } from './provider.ts'

type Fields = Readonly<Record<string, unknown>>

export interface RigOptions {
  /** Upstreams by the name of the provider's service, with fields that differ from the defaults. */
  readonly upstreams: Readonly<Record<string, Fields>>
  readonly routes: readonly Fields[]
  readonly gateway?: Fields
  /** SIGUSR2 collects garbage in the process, so that its heap contains only live objects. */
  readonly collects?: boolean
  readonly env?: Readonly<Record<string, string>>
}

const COLLECTING = `process.on('SIGUSR2', () => globalThis.gc())`
const COLLECTS = `--expose-gc --import=data:text/javascript,${encodeURIComponent(COLLECTING)}`

export interface Rig {
  readonly gateway: GatewayProcess
  readonly provider: FaultyProvider
  readonly key: string
  service(name: string): Service
  /** A chat request as bytes; `more` adds members to its body. */
  bytes(route: string, more?: Fields): string
  open(bytes: string): RawSocket
  gauges(): Promise<Gauges>
  /** Waits until no request is open, neither here nor at an upstream. */
  atRest(): Promise<void>
  stop(): Promise<void>
}

/** The values of one scrape. */
export class Gauges {
  readonly #lines: readonly string[]

  constructor(text: string) {
    this.#lines = text.split('\n').filter((line) => !line.startsWith('#'))
  }

  /** The sum of all series of a name, or of those whose labels contain this text. */
  sum(name: string, labels = ''): number {
    const lines = this.#lines.filter(
      (line) =>
        (line.startsWith(`${name}{`) || line.startsWith(`${name} `)) && line.includes(labels),
    )
    return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0)
  }

  /** The resources that keep the process alive, by type. */
  resources(type: string): number {
    return this.sum('nodejs_active_resources', `type="${type}"`)
  }
}

export async function startRig(options: RigOptions): Promise<Rig> {
  const { upstreams, routes, gateway: fields, collects, env } = options
  const provider = await startFaultyProvider()
  const { key, record } = aKey()
  const gateway = await startGateway({
    env: { RIG_KEY: 'upstream-key', ...(collects && { NODE_OPTIONS: COLLECTS }), ...env },
    config: {
      apiVersion: 'inference.gw/v1',
      kind: 'GatewayConfig',
      gw: {
        gateway: fields ?? {},
        upstreams: Object.entries(upstreams).map(([name, more]) => ({
          name,
          provider: 'openai',
          endpoint: provider.endpoint(name),
          model: `${name}-model`,
          api_key: '${env:RIG_KEY}',
          context_window: 131_072,
          ...more,
        })),
        routes,
        telemetry: { access_log: false, trace_ring: 10 },
        api_keys: [record],
      },
    },
  })
  const gauges = async () => {
    const headers = { connection: 'close' }
    return new Gauges(await (await fetch(`${gateway.metricsUrl}/metrics`, { headers })).text())
  }
  const services = Object.keys(upstreams).map((name) => provider.service(name))
  return {
    gateway,
    provider,
    key,
    service: (name) => provider.service(name),
    bytes: (route, more) => chatBytes(key, route, more),
    open(bytes) {
      const socket = new RawSocket(gateway.url)
      socket.send(bytes)
      return socket
    },
    gauges,
    atRest: () => until('nothing is in flight', () => isAtRest(gauges, services), 40),
    async stop() {
      await gateway.stop()
      await provider.close()
      assert.doesNotMatch(gateway.output(), /MaxListeners|internal_error|UnhandledPromise/)
    },
  }
}

async function isAtRest(
  gauges: () => Promise<Gauges>,
  services: readonly Service[],
): Promise<boolean> {
  if (services.some(({ inFlight }) => inFlight > 0)) return false
  const now = await gauges()
  const names = ['gw_requests_in_flight', 'gw_streams_open', 'gw_upstream_in_flight']
  return names.every((name) => now.sum(name) === 0)
}

function chatBytes(key: string, route: string, more: Fields = {}): string {
  const messages = [{ role: 'user', content: 'hello' }]
  const body = JSON.stringify({ model: route, messages, ...more })
  const head = [
    'POST /v1/chat/completions HTTP/1.1',
    'Host: gateway.test',
    `Authorization: Bearer ${key}`,
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
  ]
  return `${head.join('\r\n')}\r\n\r\n${body}`
}
