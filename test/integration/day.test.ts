/**
 * The page cli/docs/day.md: its commands, in order, print what it shows. `node
 * test/integration/day.test.ts --write` rewrites the page.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { startSimulator } from '../../cli/simulator/simulator.ts'
import '../helpers/clear-of-midnight.ts'
import { freePort } from '../helpers/free-port.ts'
import { TOOL } from '../helpers/gw.ts'
import { answers, until } from '../helpers/until.ts'
import { withClock } from '../helpers/wall-clock.ts'
import { fileOf, partsOf, rewritten, type Step, shapeOf } from './day/transcript.ts'

const PAGE = join(import.meta.dirname, '../../cli/docs/day.md')
const page = readFileSync(PAGE, 'utf8')

const folder = await mkdtemp(join(tmpdir(), 'gw-day-'))
mkdirSync(join(folder, 'run'), { mode: 0o700 })
const servers = { first: await startSimulator(), second: await startSimulator() }
/** A test that fails before the page stops a gateway would leave it running, and never end. */
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
after(async () => {
  if (gateway.exitCode === null) {
    const ended = once(gateway, 'exit')
    gateway.kill('SIGTERM')
    await ended
  }
  for (const server of running) await server.stop()
  await rm(folder, { recursive: true })
})

function here(text: string): string {
  return [...ports].reduce((rest, [shown, port]) => rest.replaceAll(shown, String(port)), text)
}

function shown(text: string): string {
  const named = text.replaceAll(/unix:\S+\/run\/gw-\d+/g, 'unix:/run/user/1000/gw-1000')
  return [...ports].reduce((rest, [name, port]) => rest.replaceAll(String(port), name), named)
}

async function run(command: string): Promise<string> {
  const [, name, value] = /^export (\w+)=(.*)$/.exec(command) ?? []
  if (name !== undefined) {
    env[name] = name === 'GW_KEY' ? keys.get(value ?? '') : here(value ?? '')
    return ''
  }
  const words = [...command.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, word]) => quoted ?? word)
  const args = words.slice(1).map((word) => here(word ?? ''))
  const child = spawn(process.execPath, [TOOL, ...args], { cwd: folder, env, stdio: 'pipe' })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  child.stdin.end()
  await once(child, 'close')
  const key = /^gw_live_(\w+)_\w+$/m.exec(output)
  if (key !== null) {
    const id = /gw_live_([a-z]+)_/.exec(key[0])?.[1] ?? ''
    keys.set(id, key[0])
    await until('the gateway knows the key', async () =>
      (await asked(['keys', 'list', '-o', 'name'])).split('\n').includes(id),
    )
  }
  return shown(output)
}

async function asked(args: readonly string[]): Promise<string> {
  const child = spawn(process.execPath, [TOOL, ...args], { cwd: folder, env, stdio: 'pipe' })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  child.stdin.end()
  await once(child, 'close')
  return output
}

/** A log line is written a moment after the answer. */
async function settled({ command, output: wanted }: Step): Promise<string> {
  let output = await run(command)
  if (!command.startsWith('gw logs')) return output
  await until('the log has the request', async () => {
    if (wanted === '' ? output !== '' : shapeOf(output) === shapeOf(wanted)) return true
    output = await run(command)
    return false
  }).catch(() => undefined)
  return output
}

test('the commands of a day print what the page shows', async () => {
  await until('the gateway is ready', async () => {
    assert.equal(gateway.exitCode, null, readFileSync(join(folder, 'gw.log'), 'utf8'))
    return await answers(here('http://127.0.0.1:8080/readyz'))
  })
  const outputs: string[] = []
  for (const part of partsOf(page)) {
    if ('stops' in part) {
      running.delete(servers.first)
      await servers.first.stop()
      continue
    }
    const output = await settled(part)
    outputs.push(output)
    if (process.argv.includes('--write')) continue
    assert.equal(shapeOf(output), shapeOf(part.output), part.command)
  }
  if (process.argv.includes('--write')) await writeFile(PAGE, rewritten(page, outputs))
})
