/**
 * One connection to Redis, or one to each node of a cluster. It never resends or retries, and never reconnects to a server; the
 * caller does. Only a call to a node of a cluster waits for the connection to that node, within the deadline of the caller.
 */
import type { SecureContext } from 'node:tls'
import { Cluster, Redis } from 'ioredis'
import { turnEnd } from '../../base/turn-end.ts'
import type { RedisPlace } from '../../config/redis-url.ts'

export interface ClientOptions {
  readonly place: RedisPlace
  /** For TLS; called for each connection, so that renewed files are used. */
  readonly secureContext: () => SecureContext
  readonly connectMs: number
  /** Called once when the connection has failed or ended for good. */
  readonly onEnd: (error: Error | undefined) => void
  readonly onReady: () => void
}

export interface RedisClient {
  readonly isReady: boolean
  runCached(sha: string, keys: readonly string[], args: readonly Argument[]): Promise<unknown>
  /** Sends the whole script text, which the server stores. */
  runWhole(lua: string, keys: readonly string[], args: readonly Argument[]): Promise<unknown>
  close(): void
}

export type Argument = string | number

export interface ListenerOptions extends Omit<ClientOptions, 'onReady'> {
  readonly channel: string
  readonly onMessage: (text: string) => void
}

/** Name of the connection in `CLIENT LIST`. */
const CONNECTION_NAME = 'gw'

/** Short, so that a sentinel without an answer leaves time for the next one. */
const SENTINEL_MS = 250

/** Longest time for closing the socket of a dropped connection; its running calls are lost. */
const DISCONNECT_MS = 50

const NEVER = () => null

export function openClient(options: ClientOptions): RedisClient {
  const connection = options.place.kind === 'cluster' ? clusterOf(options) : redisOf(options)
  const hold = connection instanceof Redis ? holdingWrites(connection) : () => undefined
  const life = connected(connection, options)
  return {
    get isReady() {
      return !life.isOver && connection.status === 'ready'
    },
    runCached(sha, keys, args) {
      hold()
      return connection.evalsha(sha, keys.length, ...keys, ...args)
    },
    runWhole: (lua, keys, args) => connection.eval(lua, keys.length, ...keys, ...args),
    close: life.close,
  }
}

export interface RedisListener extends Pick<RedisClient, 'isReady' | 'close'> {
  /** Whether the server answers but does not let it listen. */
  readonly isRefused: boolean
}

/** Listens to a channel on a separate connection, since such a connection can do nothing else. */
export function openListener(options: ListenerOptions): RedisListener {
  const { place, channel, onMessage } = options
  const connection = place.kind === 'cluster' ? clusterOf(options) : redisOf(options)
  let isListening = false
  let isRefused = false
  const onReady = () => {
    // A user without the permission works without the channel.
    connection.subscribe(channel).then(
      () => {
        isListening = true
      },
      () => {
        isRefused = true
      },
    )
  }
  connection.on('message', (_: string, text: string) => onMessage(text))
  const life = connected(connection, { ...options, onReady })
  return {
    get isReady() {
      return isListening && !life.isOver && connection.status === 'ready'
    },
    get isRefused() {
      return isRefused && !life.isOver
    },
    close: life.close,
  }
}

function connected(
  connection: Redis | Cluster,
  { onReady, onEnd }: Pick<ClientOptions, 'onReady' | 'onEnd'>,
) {
  let error: Error | undefined
  const life = {
    isOver: false,
    close() {
      life.isOver = true
      connection.disconnect()
    },
  }
  const end = () => {
    if (life.isOver) return
    life.isOver = true
    onEnd(error)
  }
  connection.on('error', (said: Error) => {
    error = said
  })
  connection.on('ready', () => {
    if (!life.isOver) onReady()
  })
  connection.on('close', end)
  connection.on('end', end)
  connection.connect().catch((said: Error) => {
    error ??= said
    end()
  })
  return life
}

/**
 * Returns a function that holds back what is written in this turn of the event loop: all calls leave in one write at its end.
 * test/bench/micro/redis-turn.ts: 8.6 us a call of sixteen in a turn, 11.6 where each is written at once.
 */
function holdingWrites(connection: Redis): () => void {
  let held: Redis['stream'] | undefined
  const flush = () => {
    held?.uncork()
    held = undefined
  }
  const writes = { flush }
  return () => {
    if (held !== undefined) return
    held = connection.stream
    held.cork()
    turnEnd.hold(writes)
  }
}

type Connecting = Pick<ClientOptions, 'place' | 'secureContext' | 'connectMs'>

function redisOf({ place, secureContext, connectMs }: Connecting): Redis {
  const { kind, nodes, path, tls, sentinelUsername, sentinelPassword } = place
  const shared = { ...sharedOptions(place, connectMs), lazyConnect: true, retryStrategy: NEVER }
  const secure = tls ? { tls: { secureContext: secureContext() } } : {}
  if (kind === 'unix') return new Redis({ ...shared, path })
  if (kind === 'standalone') return new Redis({ ...shared, ...secure, ...nodes[0] })
  return new Redis({
    ...shared,
    ...secure,
    sentinels: nodes.map((node) => ({ ...node })),
    name: place.primary,
    role: 'master',
    enableTLSForSentinelMode: tls,
    ...(tls && { sentinelTLS: { secureContext: secureContext() } }),
    ...(sentinelUsername !== '' && { sentinelUsername }),
    ...(sentinelPassword !== '' && { sentinelPassword }),
    sentinelCommandTimeout: SENTINEL_MS,
    sentinelRetryStrategy: NEVER,
    updateSentinels: false,
    failoverDetector: false,
  })
}

function clusterOf({ place, secureContext, connectMs }: Connecting): Cluster {
  const { nodes, tls } = place
  const cluster = new Cluster([...nodes], {
    lazyConnect: true,
    // Without it, only the first of the calls that come while the connection to their node opens is kept; it refuses the others.
    enableOfflineQueue: true,
    enableReadyCheck: false,
    clusterRetryStrategy: NEVER,
    clusterNodeRetryStrategy: null,
    // A moving slot costs one more round trip; more than a few redirections mean a mistake.
    maxRedirections: 4,
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: 0,
    retryDelayOnTryAgain: 5,
    slotsRefreshTimeout: connectMs,
    slotsRefreshInterval: 1_000,
    redisOptions: {
      ...sharedOptions(place, connectMs),
      ...(tls && { tls: { secureContext: secureContext() } }),
    },
  })
  // Else the first call to a node opens its connection.
  cluster.on('ready', () => {
    for (const node of cluster.nodes('master')) connectNode(node, connectMs)
  })
  cluster.on('+node', (node: Redis) => {
    if (cluster.status === 'ready' && node.options.readOnly !== true) connectNode(node, connectMs)
  })
  return cluster
}

/** The client finds a node again, and connects to it again, if this fails. */
function connectNode(node: Redis, connectMs: number): void {
  if (node.status !== 'wait') return
  // A server that is frozen accepts connections, so the timeout of the connection does not apply.
  const timer = setTimeout(() => node.disconnect(), connectMs).unref()
  node
    .connect()
    .catch(() => undefined)
    .finally(() => clearTimeout(timer))
}

function sharedOptions({ username, password, db }: RedisPlace, connectMs: number) {
  return {
    ...(username !== '' && { username }),
    ...(password !== '' && { password }),
    db,
    // AUTH is open to every user; HELLO, which the newer protocol begins with, needs a permission.
    protocol: 2,
    connectTimeout: connectMs,
    disconnectTimeout: DISCONNECT_MS,
    enableOfflineQueue: false,
    // A script that writes, not INFO, shows whether a server can be used.
    enableReadyCheck: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    connectionName: CONNECTION_NAME,
    disableClientInfo: true,
    keepAlive: 10_000,
  } as const
}
