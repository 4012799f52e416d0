/**
 * Real gateway processes that share one real Redis, and a client that calls any of them over kept
 * connections.
 */
import { Agent, request } from 'node:http'
import { aDocument, anUpstream, Front } from '../../helpers/fake-upstream.ts'
import { PLENTY, startGateway } from '../../helpers/gateway-process.ts'
import { type RedisServer, startRedis } from '../../helpers/redis-server.ts'
import type { Keys } from '../limits/limited-gateway.ts'

type Fields = Readonly<Record<string, unknown>>

export interface Sections extends Fields {
  readonly upstreams: readonly Fields[]
}

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
  /** Milliseconds of `performance.now()`. */
  readonly askedAt: number
  readonly answeredAt: number
}

export class Replicas {
  readonly redis: RedisServer
  readonly fronts: readonly Front[]
  readonly #keys: Keys
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1000 })

  private constructor(redis: RedisServer, fronts: readonly Front[], keys: Keys) {
    this.redis = redis
    this.fronts = fronts
    this.#keys = keys
  }

  static async start(
    count: number,
    gw: Sections,
    keys: Keys,
    { redis = undefined as RedisServer | undefined, socket = undefined as string | undefined } = {},
  ): Promise<Replicas> {
    redis ??= await startRedis()
    const config = sharedDocument(gw, keys, { socket: socket ?? redis.socket })
    const env = { UPSTREAM_KEY: 'upstream-credential' }
    const fronts: Front[] = []
    for (let index = 0; index < count; index++) {
      fronts.push(new Front(await startGateway({ env, config }), ''))
    }
    return new Replicas(redis, fronts, keys)
  }

  /** One of the processes as a tenant sees it. */
  front(index: number, tenant: string): Front {
    const front = this.fronts[index % this.fronts.length] as Front
    return new Front(front.process, this.#keys.byTenant.get(tenant) ?? 'unknown')
  }

  /** A chat completion that is not a stream. */
  ask(index: number, tenant: string, fields: Fields): Promise<Answer> {
    const { process, key } = this.front(index, tenant)
    const askedAt = performance.now()
    const body = JSON.stringify({ ...QUESTION, ...fields })
    return new Promise((resolve, reject) => {
      const outgoing = request(`${process.url}/v1/chat/completions`, {
        method: 'POST',
        agent: this.#agent,
        headers: {
          authorization: `Bearer ${key}`,
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
        },
      })
      outgoing.on('error', reject)
      outgoing.on('response', (incoming) => {
        let text = ''
        incoming.setEncoding('utf8').on('data', (piece: string) => {
          text += piece
        })
        // To Node a cut answer is an error, and `close` is emitted in any case.
        incoming.on('error', () => {})
        incoming.on('close', () => {
          const { statusCode: status = 0, headers } = incoming
          resolve({ status, headers, text, askedAt, answeredAt: performance.now() })
        })
      })
      outgoing.end(body)
    })
  }

  /** A new configuration for every process. */
  async apply(gw: Sections): Promise<void> {
    const body = JSON.stringify(sharedDocument(gw, this.#keys, this.redis))
    for (const { process } of this.fronts) {
      const { adminUrl, adminHeaders: headers } = process
      const answer = await fetch(`${adminUrl}/config`, { method: 'PUT', headers, body })
      if (answer.status !== 200) throw new Error(await answer.text())
    }
  }

  async stop(): Promise<void> {
    this.#agent.destroy()
    await Promise.all(this.fronts.map(({ process }) => process.stop()))
    await this.redis.stop()
  }
}

const QUESTION = { model: 'chat', messages: [{ role: 'user', content: 'hi' }] }

function sharedDocument(gw: Sections, { records }: Keys, { socket }: Pick<RedisServer, 'socket'>) {
  const { rate_limits: given, upstreams, ...others } = gw
  const { redis, ...limits } = (given ?? {}) as Fields & { readonly redis?: Fields }
  const rate_limits = {
    default: PLENTY,
    backend: 'redis',
    // A busy machine must not look like an outage; other tests cover outages.
    redis: { url: `unix://${socket}`, timeout_ms: 5000, ...redis },
    ...limits,
  }
  const routes = [{ name: 'chat', strategy: 'single', primary: upstreams[0]?.name }]
  return aDocument({
    api_keys: records,
    routes,
    telemetry: { access_log: false },
    ...others,
    rate_limits,
    upstreams: upstreams.map(anUpstream),
  })
}
