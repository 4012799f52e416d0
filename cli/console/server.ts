/**
 * The console on a loopback port: its page, read access to the admin APIs of all gateways in the command, and the
 * playground.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { adminRefusal } from '../../dataplane/admin/guard.ts'
import { Feed } from '../../dataplane/console/feed.ts'
import { DATA_HEADERS, sendPageFile } from '../../dataplane/console/page-files.ts'
import type { AskedGateway } from '../asking/asked-gateways.ts'
import type { AdminAnswer } from '../asking/connection.ts'
import { isOwnPage, PLAYGROUND_PATH, play, playgroundUrl, Refused } from './playground.ts'

export interface ConsoleServer {
  /** The page, with the token that opens its data. */
  readonly url: string
  /** Shows these gateways from now on. */
  follow(gateways: readonly AskedGateway[]): void
  close(): Promise<void>
}

export interface ConsoleOptions {
  /** 0, the default, chooses a free port. */
  readonly port: number
  readonly token: string
  /** A dashboard that the page links to. */
  readonly grafana?: string | undefined
  /** A gateway did not answer; it may be gone. */
  onSilence(): void
  /** The resource of a gateway in a cluster, with its status; absent if there is no cluster. */
  readResource?(): Promise<unknown>
}

/** A slower pod is shown as not answering, so that it does not delay the others. */
const SAMPLE_MS = 2500
const PAGE = '/console/'

/** The page reads these paths; the server passes on no other path of the admin API. */
const READ =
  /^\/(?:status|config|models|activity|history|changes|limits|usage|traces|explain|keys|rollouts|shadows)(?:[/?]|$)/

export async function startConsole(options: ConsoleOptions): Promise<ConsoleServer> {
  const { token, readResource, grafana } = options
  let gateways: readonly AskedGateway[] = []
  const feed = new Feed({
    sample: async () => ({
      at: new Date().toISOString(),
      hasCluster: readResource !== undefined,
      grafana,
      pods: await Promise.all(gateways.map((gateway) => podOf(gateway, options))),
    }),
    isEnding: () => false,
  })
  const server = createServer((incoming, outgoing) => {
    const gatewayOf = (name: string) => gateways.find((gateway) => gateway.name === name)
    answer(incoming, outgoing, { token, feed, gatewayOf, readResource }).catch((error) =>
      ended(outgoing, error),
    )
  })
  server.listen(options.port, '127.0.0.1')
  await once(server, 'listening')
  // A server that listens on a port has an address of this kind.
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}${PAGE}#token=${token}`,
    follow(found) {
      gateways = found
    },
    async close() {
      feed.end()
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

async function podOf({ name, ask }: AskedGateway, { onSilence, readResource }: ConsoleOptions) {
  const path = `/pods/${encodeURIComponent(name)}`
  try {
    const asking = { timeoutMs: SAMPLE_MS }
    const [status, activity] = await Promise.all([ask('/status', asking), ask('/activity', asking)])
    if (status.status !== 200 || activity.status !== 200)
      throw new Error(`it answered with ${status.status} and ${activity.status}`)
    const sendsTo = readResource === undefined ? playgroundUrl(status.body) : undefined
    return { name, path, status: status.body, activity: activity.body, sendsTo }
  } catch (error) {
    onSilence()
    return { name, path, error: error instanceof Error ? error.message : String(error) }
  }
}

interface Serving {
  readonly token: string
  readonly feed: Feed
  readonly readResource: ConsoleOptions['readResource']
  gatewayOf(name: string): AskedGateway | undefined
}

async function answer(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  { token, feed, gatewayOf, readResource }: Serving,
): Promise<void> {
  const { method = '', url = '' } = incoming
  const isEvents = url === `${PAGE}events`
  const isOpen = url.startsWith(PAGE) && !isEvents
  const [, name = '', path = ''] = /^\/pods\/([^/]+)(\/.*)$/.exec(url) ?? []
  const gateway = gatewayOf(decoded(name))
  const isPlayed = method === 'POST' && path === PLAYGROUND_PATH && isOwnPage(incoming)
  // The guard does not accept a repeated header.
  const headers = incoming.headers as Record<string, string | undefined>
  const asked = { ...headers, method, isOpen, ...(isPlayed && { origin: undefined }) }
  const refusal = adminRefusal(asked, { isSocket: false, token })
  if (refusal !== undefined) return send(outgoing, refusal.status, refused(refusal.message))
  if (isPlayed && gateway !== undefined && readResource === undefined)
    return await play(incoming, outgoing, await originOf(gateway))
  if (method !== 'GET' && method !== 'HEAD')
    return send(outgoing, 405, refused('The console only reads.'))
  if (isEvents) return feed.join(outgoing)
  if (isOpen) return sendPageFile(url.slice(PAGE.length).replace(/\?.*$/, ''), incoming, outgoing)
  if (url === '/cluster' && readResource !== undefined)
    return await pass(outgoing, async () => ({ status: 200, body: await readResource() }))
  if (gateway === undefined || !READ.test(path))
    return send(outgoing, 404, refused('This path does not exist; the page is at /console/.'))
  await pass(outgoing, () => gateway.ask(path))
}

async function originOf({ name, ask }: AskedGateway): Promise<string> {
  const origin = playgroundUrl((await ask('/status')).body)
  if (origin !== undefined) return origin
  throw new Refused(404, `The playground sends nothing to ${name}: it is not on this machine.`)
}

/** Once an answer has begun, only its end can tell that it is not whole. */
function ended(outgoing: ServerResponse, error: unknown): void {
  if (outgoing.headersSent) outgoing.destroy()
  else if (error instanceof Refused) send(outgoing, error.status, refused(error.message))
  else send(outgoing, 502, refused((error as Error).message))
}

async function pass(outgoing: ServerResponse, ask: () => Promise<AdminAnswer>): Promise<void> {
  try {
    const { status, body } = await ask()
    send(outgoing, status, body)
  } catch (error) {
    send(outgoing, 502, refused((error as Error).message))
  }
}

function send(outgoing: ServerResponse, status: number, body: unknown): void {
  outgoing.writeHead(status, { ...DATA_HEADERS, 'content-type': 'application/json; charset=utf-8' })
  outgoing.end(JSON.stringify(body))
}

function refused(message: string) {
  return { error: { message } }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return ''
  }
}
