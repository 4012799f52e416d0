/** The real gateway as a child process on ports of its own, and keys for its configuration. */
import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { hash, randomInt } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parse, stringify } from 'yaml'
import { adminFolder, tokenIn } from '../../dataplane/admin/place.ts'

type Fields = Readonly<Record<string, unknown>>

/** A configuration as written in a file; whether it is valid is for the gateway to say. */
export type ConfigDocument = Fields & { readonly gw?: Fields & { readonly gateway?: Fields } }

export interface GatewayOptions {
  /** The document or its YAML; address, ports and `PLENTY` are added where it says nothing of them. */
  readonly config: ConfigDocument | string
  readonly env?: Readonly<Record<string, string>>
  readonly args?: readonly string[]
}

export interface GatewayProcess {
  /** Origins without a path: of the clients, of `/metrics`, and of the admin API. */
  readonly url: string
  readonly metricsUrl: string
  readonly adminUrl: string
  /** With the token of the admin API; a pod wants none. */
  readonly adminHeaders: Readonly<Record<string, string>>
  readonly configFile: string
  readonly pid: number
  /** All that it has written to standard output and standard error. */
  output(): string
  signal(name: NodeJS.Signals): void
  readonly exited: Promise<Exit>
  /** Asks it to end, and after 5 seconds ends it. */
  stop(): Promise<void>
}

export type Exit = { readonly code: number | null; readonly signal: NodeJS.Signals | null }

/** Limits that never stand in the way of a test about something else. `rate_limits: undefined` leaves them out. */
export const PLENTY = {
  requests_per_minute: 1_000_000,
  burst: 1_000_000,
  concurrent_requests: 100_000,
}

/** Sockets and tokens of this test's gateways stand apart from those of all others; the tool looks there too. */
const runtimeFolder = mkdtempSync(join(tmpdir(), 'gw-run-'))
process.env.XDG_RUNTIME_DIR = runtimeFolder
process.once('exit', () => rmSync(runtimeFolder, { recursive: true, force: true }))

const PROGRAM = join(import.meta.dirname, '../../dataplane/main.ts')
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Starts the gateway and resolves once it is ready; rejects with its output if it never is. */
export async function startGateway(options: GatewayOptions): Promise<GatewayProcess> {
  const { document, gateway } = await withPorts(options.config)
  const configFile = join(await mkdtemp(join(tmpdir(), 'gw-test-')), 'config.yaml')
  await writeFile(configFile, stringify(document))
  const args = [PROGRAM, '--config', configFile, ...(options.args ?? [])]
  const child = spawn(process.execPath, args, { env: { ...process.env, ...options.env } })
  const output = collectOutput(child)
  const exited = untilExit(child, dirname(configFile))
  const url = `http://127.0.0.1:${gateway.listen_port}`
  try {
    await until('the gateway is ready', () => isOver(child) || answers(`${url}/readyz`), 120)
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

/** What the gateway with this port wants at its admin port, if it has one. */
async function adminHeaders(listenPort: number): Promise<Record<string, string>> {
  const file = tokenIn(adminFolder(process.env) ?? '', listenPort)
  const token = await readFile(file, 'utf8').catch(() => undefined)
  return token === undefined ? {} : { authorization: `Bearer ${token.trim()}` }
}

/** Asks again and again whether something has come true, for a time that is bounded, and long for a slow machine. */
export async function until(
  what: string,
  condition: () => boolean | Promise<boolean>,
  secondsMax = 60,
): Promise<void> {
  const deadline = performance.now() + secondsMax * 1000
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`Not within ${secondsMax} s: ${what}.`)
    await delay(20)
  }
}

/** Whether a GET of this address is answered with 200. */
export async function answers(address: string): Promise<boolean> {
  const response = await fetch(address, { signal: AbortSignal.timeout(10_000) }).catch(() => null)
  await response?.body?.cancel()
  return response?.status === 200
}

/** A new key and its record for `api_keys`; what is not given has a valid default. */
export function aKey(fields: Fields & { readonly id?: string } = {}) {
  const { id = `k${randomInt(1_000_000)}` } = fields
  const secret = Array.from({ length: 43 }, () => BASE62[randomInt(62)]).join('')
  const key = `gw_test_${id}_${secret}`
  const digest = `sha256:${hash('sha256', key)}`
  return { key, record: { id, tenant: 'acme', hash: digest, routes: ['*'], ...fields } }
}

async function withPorts(config: ConfigDocument | string) {
  const document: ConfigDocument = typeof config === 'string' ? parse(config) : config
  const gateway = {
    listen_address: '127.0.0.1',
    listen_port: await freePort(),
    metrics_port: await freePort(),
    admin_port: await freePort(),
    ...document.gw?.gateway,
  }
  const gw = { rate_limits: { default: PLENTY }, ...document.gw, gateway }
  return { document: { ...document, gw }, gateway }
}

/** Below the range of outgoing connections, so that none of them takes the port in between. */
const PORTS = { first: 12_000, blocks: 200, inBlock: 100 }
let block: Promise<number> | undefined
let given = 0

/** A port that nobody listens on, and that no other test is given before somebody does. */
export async function freePort(): Promise<number> {
  block ??= takeBlock()
  const first = await block
  given = 1 + (given % (PORTS.inBlock - 1))
  const port = first + given
  const server = await listening(port)
  if (server === undefined) return freePort()
  server.close()
  await once(server, 'close')
  return port
}

/** Ports for this process alone. It listens on the first of them as long as it lives, which tells all others so. */
async function takeBlock(): Promise<number> {
  const first = PORTS.first + PORTS.inBlock * randomInt(PORTS.blocks)
  const server = await listening(first)
  if (server === undefined) return takeBlock()
  server.unref()
  return first
}

async function listening(port: number): Promise<Server | undefined> {
  const server = createServer().listen(port, '127.0.0.1')
  return await once(server, 'listening').then(
    () => server,
    () => undefined,
  )
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
