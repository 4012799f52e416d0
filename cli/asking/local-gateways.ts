/** The gateways of this user on this machine, found by their admin sockets, and the tokens of those on TCP. */
import { lstatSync, readFileSync } from 'node:fs'
import {
  adminFolder,
  folderFault,
  portsIn,
  socketIn,
  tokenIn,
} from '../../dataplane/admin/place.ts'
import { type AdminAnswer, ask } from './admin-call.ts'

export interface LocalGateway {
  /** `unix:PATH`. */
  readonly admin: string
  readonly listenPort: number
  readonly tokenFile: string
  /** Further addresses of the gateway, as URLs. */
  readonly addresses: readonly string[]
  readonly file: string
}

const LOOK_MS = 1000
/** Number of sockets to ask at once; sockets without a listener refuse at once. */
const ASKED_MAX = 100

/** The gateways that answer, in the order of their ports. */
export async function localGateways(): Promise<LocalGateway[]> {
  const folder = trustedFolder()
  const ports = folder === undefined ? [] : portsIn(folder).filter((port) => isSocket(folder, port))
  const found: LocalGateway[] = []
  for (let at = 0; at < ports.length; at += ASKED_MAX) {
    const some = ports.slice(at, at + ASKED_MAX).map((port) => candidateIn(folder ?? '', port))
    const answers = await Promise.all(some.map(askedFor))
    found.push(...answers.filter((gateway) => gateway !== undefined))
  }
  return found.toSorted((a, b) => a.listenPort - b.listenPort)
}

/** The socket of the gateway with this client port, if there is one. */
export function socketOf(listenPort: number): string | undefined {
  const folder = trustedFolder()
  if (folder === undefined || !isSocket(folder, listenPort)) return undefined
  return candidateIn(folder, listenPort).admin
}

/** The token for an admin API at a URL, from the gateway that reports to listen there. */
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

function candidateIn(folder: string, listenPort: number): Candidate {
  const admin = `unix:${socketIn(folder, listenPort)}`
  return { admin, listenPort, tokenFile: tokenIn(folder, listenPort) }
}

/** The tool trusts nothing that another user may have created there. */
function trustedFolder(): string | undefined {
  const folder = adminFolder(process.env)
  try {
    return folder === undefined || folderFault(folder) !== undefined ? undefined : folder
  } catch {
    return undefined
  }
}

function isSocket(folder: string, listenPort: number): boolean {
  return lstatSync(socketIn(folder, listenPort), { throwIfNoEntry: false })?.isSocket() === true
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
