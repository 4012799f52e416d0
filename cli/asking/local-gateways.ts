/** The gateways that this user runs on this machine, found by their admin sockets, and the tokens of those on TCP. */
import { readdirSync, readFileSync } from 'node:fs'
import { adminFolder, folderFault, socketIn, tokenIn } from '../../dataplane/admin/place.ts'
import { type AdminAnswer, ask } from './admin-call.ts'

export interface LocalGateway {
  /** `unix:PATH`. */
  readonly admin: string
  readonly listenPort: number
  readonly tokenFile: string
  /** Where it listens besides, as URLs. */
  readonly addresses: readonly string[]
  readonly file: string
}

const LOOK_MS = 1000
const SOCKETS_MAX = 100

/** Those that answer, by their port. */
export async function localGateways(): Promise<LocalGateway[]> {
  const found = await Promise.all(candidates().map(askedFor))
  return found
    .filter((gateway) => gateway !== undefined)
    .toSorted((a, b) => a.listenPort - b.listenPort)
}

/** The socket of the gateway with this port for clients, where there is one. */
export function socketOf(listenPort: number): string | undefined {
  return candidates().find((one) => one.listenPort === listenPort)?.admin
}

/** The token for an admin API at a URL, of the gateway that says itself that it listens there. */
export async function tokenFor(url: URL): Promise<string | undefined> {
  if (url.protocol !== 'http:' || !/^(127\.0\.0\.1|localhost|\[::1\])$/.test(url.hostname)) return
  const port = url.port || '80'
  const all = await localGateways()
  const owner = all.find(({ addresses }) =>
    addresses.some((address) => URL.parse(address)?.port === port),
  )
  if (owner === undefined) return undefined
  try {
    return readFileSync(owner.tokenFile, 'utf8').trim()
  } catch {
    return undefined
  }
}

type Candidate = Pick<LocalGateway, 'admin' | 'listenPort' | 'tokenFile'>

function candidates(): Candidate[] {
  const folder = adminFolder(process.env)
  if (folder === undefined) return []
  return portsIn(folder).map((listenPort) => ({
    admin: `unix:${socketIn(folder, listenPort)}`,
    listenPort,
    tokenFile: tokenIn(folder, listenPort),
  }))
}

/** Nothing is believed that another user may have put there. */
function portsIn(folder: string): number[] {
  try {
    if (folderFault(folder) !== undefined) return []
    const names = readdirSync(folder).slice(0, SOCKETS_MAX)
    return names.flatMap((name) => /^(\d{1,5})\.sock$/.exec(name)?.[1] ?? []).map(Number)
  } catch {
    return []
  }
}

async function askedFor(candidate: Candidate): Promise<LocalGateway | undefined> {
  try {
    const { status, body }: AdminAnswer = await ask(candidate.admin, '/status', {
      timeoutMs: LOOK_MS,
    })
    const { upstreams, listeners, config } = Object(body)
    if (status !== 200 || upstreams === undefined) return undefined
    const addresses: unknown = Object(listeners).admin
    return {
      ...candidate,
      addresses: Array.isArray(addresses) ? addresses.map(String) : [],
      file: String(Object(config).file ?? ''),
    }
  } catch {
    return undefined
  }
}
