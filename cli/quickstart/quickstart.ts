/** `make run`: a simulated model server and the gateway in front of it, until Ctrl-C. */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { withGateways } from '../asking/asked-gateways.ts'
import { type ConsoleServer, startConsole } from '../console/server.ts'
import { EXIT, printRemark, printText } from '../printing/output.ts'
import { startSimulator } from '../simulator/simulator.ts'
import { instructions } from './instructions.ts'
import { choosePorts, PORT_NAMES, type QuickstartPorts, wantedPorts, withPorts } from './ports.ts'
import { saveLine } from './saves.ts'

const HOST = '127.0.0.1'
const EXAMPLE = join(import.meta.dirname, '..', 'example.yaml')
/** A copy of the example with other ports. */
const COPY = 'example.yaml'
const TOOL = join(import.meta.dirname, '..', 'main.ts')
/** Public on purpose: the example contains its hash, and it gives access only to simulated models. */
const DEMO_KEY = 'gw_demo_quickstart_EybL4RXJV0SSvvDyoPl7mJB0Q2Kq7sVLJJV7nWiocei3DP8Yb'
/** Slow enough to show that the answer is a stream. It never works with an agent's tools: its calls would be nonsense. */
const MODEL = { latencyMs: 200, tokensPerSecond: 20, toolCalls: false }
/** Far more than a slow machine needs; the tool notices at once if the gateway ends. */
const READY_SECONDS_MAX = 120
const LOOK_MS = 50
const TOKEN_BYTES = 24

process.exitCode = await main(process.argv.slice(2))

async function main(given: readonly string[]): Promise<number> {
  let wanted: QuickstartPorts
  try {
    wanted = wantedPorts(given)
  } catch (error) {
    complain(error)
    return EXIT.usage
  }
  try {
    return await quickstart(wanted)
  } catch (error) {
    complain(error)
    return EXIT.unanswered
  }
}

/** Resolves with the exit code once everything has stopped. */
async function quickstart(wanted: QuickstartPorts): Promise<number> {
  const stopped = signalled()
  const ports = await choosePorts(wanted, HOST)
  for (const name of PORT_NAMES.filter((name) => ports[name] !== wanted[name])) {
    printRemark(`Port ${wanted[name]} is in use; ${name} is on ${ports[name]} instead.`)
  }
  const folder = mkdtempSync(join(tmpdir(), 'gw-quickstart-'))
  const configFile = writeConfiguration(folder, ports)
  const logFile = join(folder, 'gateway.log')
  const simulator = await startSimulator({ ...MODEL, host: HOST, port: ports.simulator })
  const gateway = startGateway(configFile, logFile)
  const exited = once(gateway, 'exit').then(() => 'exited' as const)
  let isDone = false
  let live: ConsoleServer | undefined
  try {
    const begun = await Promise.race([stopped, exited, untilReady(ports, exited)])
    if (begun === 'ready') {
      live = await liveConsole(ports)
      const places = { ...placesOf(ports), consoleUrl: live.url, configFile, logFile }
      printText(instructions(places))
    }
    const ended = begun === 'ready' ? await Promise.race([stopped, exited]) : begun
    isDone = ended === 'stopped'
    if (isDone) return EXIT.ok
    const what = ended === 'exited' ? 'the gateway has ended' : 'the gateway does not become ready'
    printRemark(`error: ${what}; its log is ${logFile}`)
    return EXIT.unanswered
  } finally {
    gateway.kill('SIGTERM')
    await exited
    await live?.close()
    await simulator.stop()
    if (isDone) leaveNothing(folder, ports)
  }
}

/** A copy of the example with changes belongs to the user. */
function leaveNothing(folder: string, ports: QuickstartPorts): void {
  const copy = join(folder, COPY)
  const isTheirs = existsSync(copy) && readFileSync(copy, 'utf8') !== exampleWith(ports)
  if (isTheirs) printRemark(`Your changes are in ${copy}.`)
  else rmSync(folder, { recursive: true, force: true })
}

function exampleWith(ports: QuickstartPorts): string {
  return withPorts(readFileSync(EXAMPLE, 'utf8'), ports)
}

function placesOf(ports: QuickstartPorts) {
  return {
    baseUrl: `http://${HOST}:${ports.gateway}/v1`,
    metricsUrl: `http://${HOST}:${ports.metrics}/metrics`,
    port: ports.gateway,
    key: DEMO_KEY,
  }
}

/** Uses the example itself if its ports are free, so that users can edit the file that they read. */
function writeConfiguration(folder: string, ports: QuickstartPorts): string {
  const text = exampleWith(ports)
  if (text === readFileSync(EXAMPLE, 'utf8')) return relative('', EXAMPLE)
  const file = join(folder, COPY)
  writeFileSync(file, text)
  return file
}

/** The page of this gateway, as `gw console` shows it. */
async function liveConsole(ports: QuickstartPorts): Promise<ConsoleServer> {
  const token = randomBytes(TOKEN_BYTES).toString('base64url')
  const server = await startConsole({ port: 0, token, onSilence: () => undefined })
  const place = { kind: 'stand-alone', admin: String(ports.gateway) } as const
  await withGateways(place, async (gateways) => server.follow(gateways))
  return server
}

function startGateway(configFile: string, logFile: string): ChildProcess {
  const log = openSync(logFile, 'a')
  const gateway = spawn(process.execPath, [TOOL, 'run', '--file', configFile], {
    // The gateway writes its messages for people to standard error.
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      ...process.env,
      // After Ctrl-C, the user should not wait for a simulated stream.
      GW_DRAIN_TIMEOUT_SECONDS: '1',
    },
  })
  createInterface({ input: gateway.stdout }).on('line', (line) => {
    writeSync(log, `${line}\n`)
    const save = saveLine(line)
    if (save !== undefined) printRemark(save)
  })
  return gateway
}

async function untilReady(
  ports: QuickstartPorts,
  exited: Promise<unknown>,
): Promise<'ready' | 'late'> {
  let isOver = false
  void exited.then(() => {
    isOver = true
  })
  const end = performance.now() + READY_SECONDS_MAX * 1000
  while (!isOver && performance.now() < end) {
    const answer = await fetch(`http://${HOST}:${ports.gateway}/readyz`).catch(() => undefined)
    await answer?.body?.cancel()
    if (answer?.ok) return 'ready'
    await delay(LOOK_MS)
  }
  return 'late'
}

/** SIGHUP too: a closed terminal must not leave a gateway behind. */
function signalled(): Promise<'stopped'> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.on(signal, () => resolve('stopped'))
    }
  })
}

function complain(error: unknown): void {
  printRemark(`error: ${error instanceof Error ? error.message : String(error)}`)
}
