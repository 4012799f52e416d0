/** The real gateway as a child process on separate ports. */
import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { parse, stringify } from 'yaml'
import { adminFolder, tokenIn } from '../../dataplane/admin/place.ts'
import './clear-of-midnight.ts'
import { freePort } from './free-port.ts'
import './runtime-folder.ts'
import { answers, until } from './until.ts'
import { withClock } from './wall-clock.ts'

type Fields = Readonly<Record<string, unknown>>

/** A configuration as in a file; the gateway checks whether it is valid. */
export type ConfigDocument = Fields & { readonly gw?: Fields & { readonly gateway?: Fields } }

export interface GatewayOptions {
  /** The document or its YAML; address, ports and `PLENTY` are added if it lacks them. */
  readonly config: ConfigDocument | string
  readonly env?: Readonly<Record<string, string>>
  readonly args?: readonly string[]
  /** Another tree's `main.ts`. */
  readonly program?: string
}

export interface GatewayProcess {
  /** Origins without a path: of the clients, of `/metrics`, and of the admin API. */
  readonly url: string
  readonly metricsUrl: string
  readonly adminUrl: string
  /** With the token of the admin API; a pod needs none. */
  readonly adminHeaders: Readonly<Record<string, string>>
  readonly configFile: string
  readonly pid: number
  /** All its output on standard output and standard error. */
  output(): string
  signal(name: NodeJS.Signals): void
  readonly exited: Promise<Exit>
  /** Asks it to end, and kills it after 5 seconds. */
  stop(): Promise<void>
}

export type Exit = { readonly code: number | null; readonly signal: NodeJS.Signals | null }

/** Limits that never affect a test of something else. `rate_limits: undefined` leaves them out. */
export const PLENTY = {
  requests_per_minute: 1_000_000,
  burst: 1_000_000,
  concurrent_requests: 100_000,
}

const PROGRAM = join(import.meta.dirname, '../../dataplane/main.ts')

/** Starts the gateway and resolves once it is ready; rejects with its output if it never is. */
export async function startGateway(options: GatewayOptions): Promise<GatewayProcess> {
  const { document, gateway } = await withPorts(options.config)
  const configFile = join(await mkdtemp(join(tmpdir(), 'gw-test-')), 'config.yaml')
  await writeFile(configFile, stringify(document))
  const args = [options.program ?? PROGRAM, '--config', configFile, ...(options.args ?? [])]
  const env = withClock({ ...process.env, ...options.env })
  const child = spawn(process.execPath, args, { env })
  const output = collectOutput(child)
  const exited = untilExit(child, dirname(configFile))
  const isSecure = 'tls' in gateway
  const url = `${isSecure ? 'https' : 'http'}://127.0.0.1:${gateway.listen_port}`
  // Over TLS only a client with the right certificates could connect.
  const isReady = () => (isSecure ? output().includes('"event":"start"') : answers(`${url}/readyz`))
  try {
    await until('the gateway is ready', () => isOver(child) || isReady(), 120)
    if (isOver(child)) throw new Error(`It exited with ${child.exitCode ?? child.signalCode}.`)
  } catch (cause) {
    await stop(child, exited)
    throw new Error(`The gateway did not become ready:\n${output()}`, { cause })
  }
  return {
    url,
    metricsUrl: `http://127.0.0.1:${gateway.metrics_port}`,
    adminUrl: `http://127.0.0.1:${gateway.admin_port}`,
    adminHeaders: await adminHeaders(gateway.listen_port),
    configFile,
    pid: child.pid ?? 0,
    output,
    signal: (name) => void child.kill(name),
    exited,
    stop: () => stop(child, exited),
  }
}

/** The token for the admin port of the gateway with this port, if it has one. */
async function adminHeaders(listenPort: number): Promise<Record<string, string>> {
  const file = tokenIn(adminFolder(process.env) ?? '', listenPort)
  const token = await readFile(file, 'utf8').catch(() => undefined)
  return token === undefined ? {} : { authorization: `Bearer ${token.trim()}` }
}

async function withPorts(config: ConfigDocument | string) {
  const document: ConfigDocument = typeof config === 'string' ? parse(config) : config
  const gateway = {
    listen_address: '127.0.0.1',
    listen_port: await freePort(),
    metrics_port: await freePort(),
    admin_port: await freePort(),
    ...(process.env.GW_TEST_WORKERS && { workers: Number(process.env.GW_TEST_WORKERS) }),
    ...document.gw?.gateway,
  }
  const gw = { rate_limits: { default: PLENTY }, ...document.gw, gateway }
  return { document: { ...document, gw }, gateway }
}

export function collectOutput(child: ChildProcessWithoutNullStreams): () => string {
  const pieces: string[] = []
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (piece: string) => pieces.push(piece))
  }
  return () => pieces.join('')
}

export async function untilExit(child: ChildProcess, folder: string): Promise<Exit> {
  const killChild = () => child.kill('SIGKILL')
  process.once('exit', killChild)
  const [code, signal] = await once(child, 'close')
  process.off('exit', killChild)
  await rm(folder, { recursive: true })
  return { code, signal }
}

export function isOver(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null
}

export async function stop(child: ChildProcess, exited: Promise<Exit>): Promise<void> {
  child.kill('SIGTERM')
  const timer = setTimeout(() => child.kill('SIGKILL'), 5000)
  await exited
  clearTimeout(timer)
}
