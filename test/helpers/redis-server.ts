/**
 * A real redis-server as a child process of the test. It listens on a unix socket in a separate folder and, if
 * requested, on a free port, with TLS or without.
 */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { freePort } from './free-port.ts'
import { until } from './until.ts'
import { aheadHere } from './wall-clock.ts'

export interface TlsFiles {
  readonly cert: string
  readonly key: string
  readonly ca: string
  /** Whether clients must show a certificate. */
  readonly mutual?: boolean
}

export interface RedisOptions {
  /** Program and its first arguments, if it is not the system's: `['chroot', dir, '/usr/bin/valkey-server']`. */
  readonly command?: readonly string[]
  /** More of the configuration: `['--appendonly', 'yes']`, `['--user', 'gw', 'on', '>secret', '~gw:*', '+@all']`. */
  readonly args?: readonly string[]
  /** `free` for any; absent: none, only the socket. */
  readonly port?: 'free' | number
  /** The port uses TLS; needs `port`. */
  readonly tls?: TlsFiles
  /** The folder of its socket and files; absent: a new folder that is removed with it. */
  readonly dir?: string
}

export interface RedisServer {
  readonly pid: number
  /** Path of the unix socket, for clients and `redis-cli -s`. */
  readonly socket: string
  /** 0 without `port`. */
  readonly port: number
  readonly dir: string
  /** All its output. */
  output(): string
  /** SIGSTOP freezes it, SIGCONT resumes it, SIGKILL is a crash. */
  signal(name: NodeJS.Signals): void
  readonly exited: Promise<void>
  /** Sends a command, on a separate connection without TLS: `ask('CONFIG', 'SET', 'maxmemory', '1')`. */
  ask(...words: readonly string[]): Promise<string>
  /** Starts a new process on the same socket, port and folder, after the old one has ended. */
  restart(): Promise<RedisServer>
  /** Ends it, frozen or not, and removes the folder that it made. */
  stop(): Promise<void>
}

export const REDIS = '/usr/bin/redis-server'

/** Longer than a test file that reads a day's usage in Redis. */
const FILE_MS_MAX = 180_000
const DAY_MS = 86_400_000
let midnight: Promise<unknown> | undefined

/** Resolves once it answers; rejects with its output if it never does. */
export async function startRedis(options: RedisOptions = {}): Promise<RedisServer> {
  // No test advances the clock of Redis: the first server of a file waits for a near midnight.
  const left = DAY_MS - ((Date.now() - aheadHere()) % DAY_MS)
  midnight ??= left < FILE_MS_MAX ? delay(left + 1000) : Promise.resolve()
  await midnight
  const [program = REDIS, ...first] = options.command ?? [REDIS]
  if (!existsSync(program) && program.startsWith('/')) {
    throw new Error(`${program} is missing; get it with: apt-get install -y redis-server`)
  }
  const dir = options.dir ?? (await mkdtemp(join(tmpdir(), 'gw-redis-')))
  const socket = join(dir, 'redis.sock')
  const port = options.port === 'free' ? await freePort() : (options.port ?? 0)
  const child = spawn(program, [...first, ...configured(options, { dir, socket, port })])
  child.stdin.end()
  const output = collect(child)
  const exited = once(child, 'close').then(() => undefined)
  exited.catch(() => undefined)
  const isOver = () =>
    child.exitCode !== null || child.signalCode !== null || child.pid === undefined
  const stop = async (forGood: boolean) => {
    if (!isOver()) child.kill('SIGKILL')
    await exited.catch(() => undefined)
    if (forGood && options.dir === undefined) await rm(dir, { recursive: true, force: true })
  }
  try {
    await until(
      'the server accepts connections',
      async () => isOver() || (await answers(socket)),
      30,
    )
    if (isOver()) throw new Error(`It exited with ${child.exitCode ?? child.signalCode}.`)
  } catch (cause) {
    await stop(true)
    throw new Error(`${program} did not start:\n${output()}`, { cause })
  }
  return {
    pid: child.pid ?? 0,
    socket,
    port,
    dir,
    output,
    signal: (name) => void child.kill(name),
    exited,
    ask: (...words) => ask(socket, words),
    async restart() {
      await stop(false)
      const next = await startRedis({ ...options, dir, port })
      // Only the creator of the folder removes it.
      if (options.dir !== undefined) return next
      return {
        ...next,
        stop: () => next.stop().then(() => rm(dir, { recursive: true, force: true })),
      }
    },
    stop: () => stop(true),
  }
}

interface Place {
  readonly dir: string
  readonly socket: string
  readonly port: number
}

function configured({ tls, args = [] }: RedisOptions, { dir, socket, port }: Place): string[] {
  const listen =
    tls === undefined
      ? ['--port', String(port)]
      : ['--port', '0', '--tls-port', String(port), ...tlsArguments(tls)]
  const quiet = ['--save', '', '--appendonly', 'no', '--daemonize', 'no', '--bind', '127.0.0.1']
  return ['--unixsocket', socket, '--dir', dir, ...listen, ...quiet, ...args]
}

function tlsArguments({ cert, key, ca, mutual = false }: TlsFiles): string[] {
  const files = ['--tls-cert-file', cert, '--tls-key-file', key, '--tls-ca-cert-file', ca]
  return [...files, '--tls-auth-clients', mutual ? 'yes' : 'no']
}

/** A bounded tail: a test that stresses a server must not keep its whole log. */
function collect(child: ChildProcessWithoutNullStreams): () => string {
  let text = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      text = (text + chunk).slice(-100_000)
    })
  }
  return () => text
}

async function answers(socket: string): Promise<boolean> {
  try {
    const said = await ask(socket, ['PING'])
    return said.startsWith('+PONG') || said.startsWith('-NOAUTH')
  } catch {
    return false
  }
}

/** The reply on the wire, for small replies. */
async function ask(path: string, words: readonly string[]): Promise<string> {
  const socket = connect(path)
  const parts = words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`)
  let reply = ''
  socket.setEncoding('utf8').on('data', (chunk: string) => {
    reply += chunk
    if (isWhole(reply)) socket.end()
  })
  socket.write(`*${words.length}\r\n${parts.join('')}`)
  await once(socket, 'close')
  if (reply === '') throw new Error(`${words[0]} was not answered.`)
  return reply
}

/** A line, or a bulk string of the announced length; of an array the first packet is enough. */
function isWhole(reply: string): boolean {
  const bulk = /^\$(\d+)\r\n/.exec(reply)
  if (bulk === null) return reply.endsWith('\r\n')
  return Buffer.byteLength(reply) >= bulk[0].length + Number(bulk[1]) + 2
}
