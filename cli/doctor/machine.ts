/** Checks of this machine: Node, sockets of gateways, ports. */
import { createServer } from 'node:net'
import { adminFolder, folderFault, portsIn, socketIn } from '../../dataplane/admin/place.ts'
import { VERSION } from '../../dataplane/base/version.ts'
import type { LocalGateway } from '../asking/local-gateways.ts'
import { type Check, found } from './check.ts'

const OLDEST_NODE = 24

export function nodeCheck(version = process.versions.node): Check {
  const { ok, failed } = found('version', 'Node')
  return Number.parseInt(version, 10) >= OLDEST_NODE
    ? ok(version)
    : failed(`${version} is too old`, `Install Node ${OLDEST_NODE} or newer.`)
}

export function versionCheck(admin: string, version: string): Check {
  const { ok, warning } = found('version', `gateway at ${admin}`)
  return version === VERSION
    ? ok(version)
    : warning(
        `${version}, and this tool is ${VERSION}`,
        'Restart the gateway with the release of the tool, or use the tool of its release.',
      )
}

/** Sockets that a gateway left when it was killed, and a folder that cannot be trusted. */
export function socketChecks(living: readonly LocalGateway[]): Check[] {
  const folder = adminFolder(process.env)
  if (folder === undefined) return []
  const ports = listed(folder)
  if (ports === undefined) return [found('sockets', folder).ok('no gateway has run here')]
  const fault = folderFault(folder)
  if (fault !== undefined)
    return [
      found('sockets', folder).failed(fault, `Correct its owner and mode: chmod 700 ${folder}`),
    ]
  const alive = new Set(living.map(({ listenPort }) => listenPort))
  const dead = ports.filter((port) => !alive.has(port)).map((port) => socketIn(folder, port))
  const { ok } = found('sockets', folder)
  return [
    ...(dead.length === 0 ? [ok(`${alive.size} of ${ports.length} answer`)] : []),
    ...dead.map((path) =>
      found('sockets', path).warning('no gateway answers here', `Remove it: rm ${path}`),
    ),
  ]
}

function listed(folder: string): number[] | undefined {
  try {
    return portsIn(folder)
  } catch {
    return undefined
  }
}

export interface WantedPort {
  /** The field of the configuration. */
  readonly field: string
  readonly port: number
  readonly host: string
}

/** A port of the file is free, or a gateway of this user has it. */
export async function portCheck(
  { field, port, host }: WantedPort,
  ours: ReadonlySet<number>,
): Promise<Check> {
  const { ok, failed } = found('port', `${host}:${port} (${field})`)
  if (ours.has(port)) return ok('a gateway of yours listens')
  const fault = await listenFault(port, host)
  if (fault === undefined) return ok('free')
  const fix = `Stop what listens there (ss -ltnp 'sport = :${port}'), or choose another gw.gateway.${field}.`
  return failed(`cannot be used: ${fault}`, fix)
}

async function listenFault(port: number, host: string): Promise<string | undefined> {
  const server = createServer()
  return await new Promise((resolve) => {
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    server.listen(port, host, () => server.close(() => resolve(undefined)))
  })
}
