/** A page as its reader follows it: its file, a gateway that uses it, and its commands in a shell. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startSimulator } from '../../../cli/simulator/simulator.ts'
import { freePort } from '../../helpers/free-port.ts'
import { TOOL } from '../../helpers/gw.ts'
import { answers, until } from '../../helpers/until.ts'
import { withClock } from '../../helpers/wall-clock.ts'
import { fileOf, partsOf, rewritten, type Step, shapeOf } from './transcript.ts'

const ROOT = join(import.meta.dirname, '../../..')

/** Types the commands of a page, compares what they print, or rewrites the page with `--write`. */
export async function playPage(name: string): Promise<void> {
  const file = join(ROOT, name)
  const page = readFileSync(file, 'utf8')
  const writes = process.argv.includes('--write')
  const reader = await startReader(page)
  const outputs: string[] = []
  try {
    for (const part of partsOf(page)) {
      if ('stops' in part) {
        await reader.stops(part.stops)
        continue
      }
      const output = await reader.types(part)
      outputs.push(output)
      if (!writes) assert.equal(shapeOf(output), shapeOf(part.output), part.command)
    }
  } finally {
    await reader.ends()
  }
  if (writes) await writeFile(file, rewritten(page, outputs))
}

async function startReader(page: string) {
  const folder = await mkdtemp(join(tmpdir(), 'gw-day-'))
  mkdirSync(join(folder, 'run'), { mode: 0o700 })
  const servers = { first: await startSimulator(), second: await startSimulator() }
  /** A test that fails before the page stops a server would leave it running, and never end. */
  const running = new Set(Object.values(servers))
  /** Ports of the page and of this run. */
  const ports = new Map([
    ['8080', await freePort()],
    ['9090', await freePort()],
    ['9001', servers.first.port],
    ['9002', servers.second.port],
  ])
  const keys = new Map<string, string>()
  const env = withClock({
    PATH: process.env.PATH,
    HOME: folder,
    XDG_RUNTIME_DIR: join(folder, 'run'),
    UPSTREAM_KEY: 'any',
  })

  await writeFile(join(folder, 'gw.yaml'), here(fileOf(page)))
  const log = openSync(join(folder, 'gw.log'), 'w')
  const gateway = spawn(process.execPath, [TOOL, 'run', '--file', 'gw.yaml'], {
    cwd: folder,
    env,
    stdio: ['ignore', log, log],
  })
  closeSync(log)

  function here(text: string): string {
    return [...ports].reduce((rest, [shown, port]) => rest.replaceAll(shown, String(port)), text)
  }

  function shown(text: string): string {
    const named = text.replaceAll(/unix:\S+\/run\/gw-\d+/g, 'unix:/run/user/1000/gw-1000')
    return [...ports].reduce((rest, [name, port]) => rest.replaceAll(String(port), name), named)
  }

  async function output(program: string, args: readonly string[]): Promise<string> {
    const child = spawn(program, args, { cwd: folder, env, stdio: 'pipe' })
    let text = ''
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (piece: string) => {
        text += piece
      })
    child.stdin.end()
    await once(child, 'close')
    return text
  }

  const asked = (...args: readonly string[]) => output(process.execPath, [TOOL, ...args])

  async function run(command: string): Promise<string> {
    const [, name, value = ''] = /^export (\w+)=(.*)$/.exec(command) ?? []
    if (name !== undefined) {
      const [, id = ''] = /^(?:gw_live_)?([a-z]+)/.exec(value) ?? []
      env[name] = name === 'GW_KEY' ? keys.get(id) : here(value)
      return ''
    }
    const [before, file] = command.includes('gw.yaml') ? [await state(), fileNow()] : []
    const text = await ran(command)
    // A command that changes the file is over when the gateway has read it.
    if (file !== undefined && fileNow() !== file)
      await until('the gateway has read the file', async () => (await state()) !== before)
    const key = /^gw_live_([a-z]+)_\w+$/m.exec(text)
    if (key !== null) keys.set(key[1] ?? '', key[0])
    return shown(text)
  }

  async function ran(command: string): Promise<string> {
    if (!command.startsWith('gw ')) return await output('sh', ['-c', here(command)])
    const words = [...command.matchAll(/"([^"]*)"|(\S+)/g)].map(
      ([, quoted, word]) => quoted ?? word,
    )
    return await asked(...words.slice(1).map((word) => here(word ?? '')))
  }

  const fileNow = () => readFileSync(join(folder, 'gw.yaml'), 'utf8')
  const state = async () => JSON.stringify(JSON.parse(await asked('status', '-o', 'json')).config)

  /** A log line is written a moment after the answer. */
  async function types({ command, output: wanted }: Step): Promise<string> {
    let text = await run(command)
    if (!command.startsWith('gw logs')) return text
    await until('the log has the request', async () => {
      if (wanted === '' ? text !== '' : shapeOf(text) === shapeOf(wanted)) return true
      text = await run(command)
      return false
    }).catch(() => undefined)
    return text
  }

  async function stops(name: string): Promise<void> {
    const server = servers[name as keyof typeof servers]
    running.delete(server)
    await server.stop()
  }

  async function ends(): Promise<void> {
    if (gateway.exitCode === null) {
      const ended = once(gateway, 'exit')
      gateway.kill('SIGTERM')
      await ended
    }
    for (const server of running) await server.stop()
    // A tool that has just ended may still write its compiled code.
    await rm(folder, { recursive: true, maxRetries: 10 })
  }

  await until('the gateway is ready', async () => {
    assert.equal(gateway.exitCode, null, readFileSync(join(folder, 'gw.log'), 'utf8'))
    return await answers(here('http://127.0.0.1:8080/readyz'))
  }).catch(async (cause) => {
    await ends()
    throw cause
  })
  return { types, stops, ends }
}
