/** Reads `redis.url`: the address of the store and its credentials, so that a mistake shows before anything connects. */

export interface RedisNode {
  readonly host: string
  readonly port: number
}

export interface RedisPlace {
  readonly kind: 'standalone' | 'unix' | 'sentinel' | 'cluster'
  readonly tls: boolean
  /** The server, the sentinels, or some nodes of the cluster; empty for a socket. */
  readonly nodes: readonly RedisNode[]
  /** Path of the unix socket. */
  readonly path: string
  /** The name under which sentinels know the primary. */
  readonly primary: string
  readonly db: number
  readonly username: string
  readonly password: string
  readonly sentinelUsername: string
  readonly sentinelPassword: string
  /** The URL without credentials. */
  readonly shown: string
}

/** The first spelling is the one that errors advise; the others are those of other clients. */
const SCHEMES: Readonly<Record<string, Pick<RedisPlace, 'kind' | 'tls'>>> = {
  redis: { kind: 'standalone', tls: false },
  rediss: { kind: 'standalone', tls: true },
  unix: { kind: 'unix', tls: false },
  'redis+unix': { kind: 'unix', tls: false },
  'redis-socket': { kind: 'unix', tls: false },
  'redis+sentinel': { kind: 'sentinel', tls: false },
  'rediss+sentinel': { kind: 'sentinel', tls: true },
  'redis-sentinel': { kind: 'sentinel', tls: false },
  sentinel: { kind: 'sentinel', tls: false },
  'redis+cluster': { kind: 'cluster', tls: false },
  'rediss+cluster': { kind: 'cluster', tls: true },
  'redis-cluster': { kind: 'cluster', tls: false },
}

const PORTS = { standalone: 6379, unix: 0, sentinel: 26_379, cluster: 6379 } as const
const NODES_MAX = 64
const DATABASES_MAX = 1_000_000
const PARAMETERS = new Set(['db', 'sentinel_username', 'sentinel_password'])

/** The forms that a fix shows. */
export const REDIS_URL_FORMS =
  'Write redis://HOST:6379, rediss://HOST:6379 (TLS), unix:///PATH, ' +
  'redis+sentinel://HOST:26379,HOST:26379/NAME or redis+cluster://HOST:6379,HOST:6379.'

/** Mistakes of the URL; the message never repeats it, because it may hold a password. */
export class RedisUrlError extends Error {}

/** Throws a RedisUrlError. */
export function parseRedisUrl(text: string): RedisPlace {
  const [whole, scheme = '', rest = ''] = /^([a-z+-]+):\/\/(.*)$/is.exec(text) ?? []
  const known = Object.hasOwn(SCHEMES, scheme.toLowerCase())
    ? SCHEMES[scheme.toLowerCase()]
    : undefined
  if (whole === undefined || known === undefined) throw new RedisUrlError('is not a Redis URL')
  const { before: place, after: query } = cut(rest, rest.indexOf('?'))
  const at = place.lastIndexOf('@')
  const user = place.slice(0, Math.max(0, at))
  const address = place.slice(at + 1)
  const { before: username, after: password } = cut(user, user.indexOf(':'))
  const { before: authority, after: path } = cut(address, address.indexOf('/'))
  const parameters = parametersOf(query)
  const nodes = known.kind === 'unix' ? noNodes(authority) : nodesOf(authority, known.kind)
  const [first = '', second] = path.split('/')
  const primary = known.kind === 'sentinel' ? decoded(first) : ''
  if (known.kind === 'sentinel' && primary === '') {
    throw new RedisUrlError('lacks the name of the primary behind the hosts')
  }
  if (known.kind === 'unix' && path === '') throw new RedisUrlError('lacks the path of the socket')
  const db = known.kind === 'unix' ? '' : known.kind === 'sentinel' ? (second ?? '') : path
  return {
    ...known,
    nodes,
    path: known.kind === 'unix' ? `/${decoded(path)}` : '',
    primary,
    db: databaseOf(parameters.get('db') ?? db, known.kind),
    username: decoded(username),
    password: decoded(password),
    sentinelUsername: parameters.get('sentinel_username') ?? '',
    sentinelPassword: parameters.get('sentinel_password') ?? '',
    shown: `${scheme.toLowerCase()}://${authority}${path === '' ? '' : `/${path}`}`,
  }
}

function cut(text: string, at: number): { before: string; after: string } {
  return at === -1
    ? { before: text, after: '' }
    : { before: text.slice(0, at), after: text.slice(at + 1) }
}

function nodesOf(text: string, kind: 'standalone' | 'sentinel' | 'cluster'): RedisNode[] {
  const parts = text.split(',')
  if (kind === 'standalone' && parts.length > 1) {
    throw new RedisUrlError(
      'names several hosts, which takes redis+sentinel:// or redis+cluster://',
    )
  }
  if (parts.length > NODES_MAX) throw new RedisUrlError(`names more than ${NODES_MAX} hosts`)
  return parts.map((part) => {
    const found = /^(?:\[([0-9a-f:.]+)\]|([^\s:[\]@/,]+))(?::(\d{1,5}))?$/i.exec(part)
    if (found === null) throw new RedisUrlError('has a host that cannot be read')
    const port = found[3] === undefined ? PORTS[kind] : Number(found[3])
    if (port < 1 || port > 65_535) throw new RedisUrlError('has a port outside 1 to 65535')
    return { host: found[1] ?? found[2] ?? '', port }
  })
}

function noNodes(authority: string): RedisNode[] {
  if (authority === '') return []
  throw new RedisUrlError('has a host, but a socket is a path: unix:///PATH, with three slashes')
}

function parametersOf(query: string): Map<string, string> {
  const parameters = new Map(new URLSearchParams(query))
  for (const name of parameters.keys()) {
    if (!PARAMETERS.has(name)) {
      const known = [...PARAMETERS].join(', ')
      throw new RedisUrlError(`has a parameter that is not known; there are ${known}`)
    }
  }
  return parameters
}

function databaseOf(text: string, kind: RedisPlace['kind']): number {
  if (text === '') return 0
  const db = Number(text)
  if (!/^\d+$/.test(text) || db > DATABASES_MAX) {
    throw new RedisUrlError('has a database that is no number')
  }
  if (kind === 'cluster' && db !== 0)
    throw new RedisUrlError('has a database; a cluster has only 0')
  return db
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new RedisUrlError('has a % that begins no escape; write %25 for a percent sign')
  }
}
