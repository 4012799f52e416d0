/**
 * The start of the process: one sentence and exit code 1 if it cannot start, and mistakes that no
 * output may show.
 */
import assert from 'node:assert/strict'
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { parse, stringify } from 'yaml'
import { aDocument, anUpstream, errorOf, startFront } from '../helpers/fake-upstream.ts'
import { freePort } from '../helpers/free-port.ts'
import { until } from '../helpers/until.ts'

const PROGRAM = join(import.meta.dirname, '../../dataplane/main.ts')
const folder = await mkdtemp(join(tmpdir(), 'gw-life-'))
after(() => rm(folder, { recursive: true }))

const UPSTREAM = { name: 'fake', endpoint: 'http://127.0.0.1:1' }
const ROUTES = [{ name: 'chat', strategy: 'single', primary: 'fake' }]

function launch(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  return spawn(process.execPath, [PROGRAM, ...args], {
    timeout: 120_000,
    killSignal: 'SIGKILL',
    env: { ...process.env, UPSTREAM_KEY: 'secret', ...env },
  })
}

async function ending(child: ChildProcessWithoutNullStreams) {
  const [[code, signal], stdout, stderr] = await Promise.all([
    once(child, 'close'),
    Array.fromAsync(child.stdout.setEncoding('utf8')),
    Array.fromAsync(child.stderr.setEncoding('utf8')),
  ])
  const said = stderr.join('').split('\n').filter(Boolean)
  return { code, signal, said, log: stdout.join('') }
}

async function aFile(name: string, gw: Readonly<Record<string, unknown>>): Promise<string> {
  const file = join(folder, name)
  await writeFile(
    file,
    stringify(aDocument({ upstreams: [anUpstream(UPSTREAM)], routes: ROUTES, ...gw })),
  )
  return file
}

for (const listener of ['listen_port', 'metrics_port', 'admin_port']) {
  test(`a ${listener} that is in use ends the process with one sentence`, async () => {
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const address = taken.address()
    const port = typeof address === 'object' ? address?.port : undefined
    const ports = {
      listen_port: await freePort(),
      metrics_port: await freePort(),
      admin_port: await freePort(),
    }
    const gateway = { ...ports, [listener]: port }
    const { code, said, log } = await ending(
      launch(['--config', await aFile(`${listener}.yaml`, { gateway })]),
    )
    taken.close()
    assert.equal(code, 1)
    assert.deepEqual(
      said.filter((line) => !line.startsWith('warning') && line.startsWith('error')),
      [
        `error: 127.0.0.1:${port} is in use; stop what listens there or choose another port with gw.gateway.${listener} (GW_${listener.toUpperCase()})`,
      ],
    )
    assert.equal(log, '')
  })
}

test('an unreadable file ends the process with one sentence', async () => {
  const missing = join(folder, 'missing.yaml')
  for (const file of [missing, folder]) {
    const { code, said } = await ending(launch(['--config', file]))
    assert.equal(code, 1)
    assert.equal(said.length, 1)
    assert.match(said[0]!, /^error: cannot read /)
    assert.ok(said[0]!.includes(file))
  }
})

test('a refused configuration ends the process with its problems and one sentence', async () => {
  const file = await aFile('refused.yaml', { routes: [{ ...ROUTES[0], primary: 'fack' }] })
  const { code, said, log } = await ending(launch(['--config', file]))
  assert.equal(code, 1)
  assert.equal(said.at(-1), `error: ${file} was refused; nothing was started`)
  assert.ok(said.some((line) => line.includes('fack') && line.includes(file)))
  assert.equal(log, '')
})

test('without a file it names the missing argument', async () => {
  const { code, said } = await ending(launch([]))
  assert.equal(code, 64)
  assert.equal(said.length, 1)
  assert.match(said[0]!, /--config FILE/)
})

for (const [name, value] of [
  ['GW_DRAIN_TIMEOUT_SECONDS', 'soon'],
  ['GW_DRAIN_DELAY_SECONDS', '-1'],
  ['GW_ADMIN_PORT', '70000'],
] as const) {
  test(`${name}=${value} ends the process with one sentence`, async () => {
    const file = await aFile('environment.yaml', {})
    const { code, said } = await ending(launch(['--config', file], { [name]: value }))
    assert.equal(code, 1)
    const errors = said.filter((line) => line.startsWith('error: '))
    assert.equal(errors.length, 1)
    assert.ok(errors[0]!.includes(name) && errors[0]!.includes(value))
  })
}

test('--help lists the options, and an unknown option gets one sentence', async () => {
  const help = await ending(launch(['--help']))
  assert.equal(help.code, 0)
  const { code, said } = await ending(launch(['--confg', 'x']))
  assert.equal(code, 64)
  assert.equal(said.length, 1)
  assert.match(said[0]!, /^error: Unknown option '--confg'/)
})

test('empty variables count as not set', async () => {
  const names = ['GW_ADMIN_PORT', 'GW_DRAIN_TIMEOUT_SECONDS', 'GW_DRAIN_DELAY_SECONDS']
  const env = Object.fromEntries(names.map((name) => [name, '']))
  const front = await startFront({ upstreams: [UPSTREAM], routes: ROUTES }, { env })
  const { process } = front
  assert.equal((await front.admin('/status')).state, 'serving')
  process.signal('SIGTERM')
  assert.deepEqual(await process.exited, { code: 0, signal: null })
  assert.match(process.output(), /"delay":0,"timeout":30/)
})

test('SIGTERM during the start ends the process with 0 and without a crash', async () => {
  const front = await startFront({ upstreams: [UPSTREAM], routes: ROUTES })
  const text = await readFile(front.process.configFile, 'utf8')
  await front.process.stop()
  const file = join(folder, 'start.yaml')
  // The process logs its start; it obeys an earlier signal then.
  await writeFile(file, stringify(parse(text)))
  const child = launch(['--config', file], { NODE_OPTIONS: `--import=${preload(SIGNAL_AT_READ)}` })
  const { code, signal, log } = await ending(child)
  assert.deepEqual({ code, signal }, { code: 0, signal: null })
  const events = log
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line).event)
    // Some versions of the runtime have a known fault, which is logged.
    .filter((event) => event !== 'runtime')
  assert.deepEqual(events, ['start', 'drain', 'stop'])
})

/** A module as the value of --import, without spaces. */
function preload(source: string): string {
  return `data:text/javascript,${encodeURIComponent(source)}`
}

/**
 * Sends the signal to the program and to the process that reads its configuration, as a terminal does, in the middle of
 * the start.
 */
const SIGNAL_AT_READ = `
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
const read = fs.readFileSync
fs.readFileSync = (path, ...rest) => {
  if (String(path).endsWith('start.yaml')) {
    process.kill(process.ppid, 'SIGTERM')
    process.kill(process.pid, 'SIGTERM')
  }
  return read(path, ...rest)
}
syncBuiltinESMExports()
`

/** Two mistakes: one inside a request, one outside all requests. */
const MISTAKES = `
import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
const hash = crypto.hash
crypto.hash = (algorithm, value, ...rest) => {
  if (value === 'inside') throw new TypeError('hidden-cause')
  if (value === 'outside') setImmediate(() => { throw new TypeError('hidden-cause') })
  return hash(algorithm, value, ...rest)
}
syncBuiltinESMExports()
`

test('a mistake of the gateway returns 500 without its cause', async () => {
  const env = { NODE_OPTIONS: `--import=${preload(MISTAKES)}` }
  const front = await startFront({ upstreams: [UPSTREAM], routes: ROUTES }, { env })
  const heard = await front.ask({}, { authorization: 'Bearer inside' }).over
  assert.equal(heard.status, 500)
  assert.equal(errorOf(heard).code, 'ERR_GW_INTERNAL')
  assert.equal(errorOf(heard).request_id, heard.headers['x-request-id'])
  assert.doesNotMatch(
    heard.text + JSON.stringify(heard.headers),
    /hidden-cause|TypeError|\.ts\b|at /,
  )
  await until('the mistake is logged', () => front.logged('internal_error').length === 1)
  const [logged] = front.logged('internal_error')
  assert.equal(logged?.request_id, heard.headers['x-request-id'])
  assert.match(String(logged?.stack), /hidden-cause[\s\S]*authenticate\.ts/)
  assert.equal((await front.trace(heard)).code, 'ERR_GW_INTERNAL')
  // The process keeps running.
  assert.equal((await front.ask({}, { authorization: 'Bearer other' }).over).status, 401)
  await front.process.stop()
})

test('a mistake outside all requests ends the process, and the log contains the reason', async () => {
  const env = { NODE_OPTIONS: `--import=${preload(MISTAKES)}` }
  const front = await startFront({ upstreams: [UPSTREAM], routes: ROUTES }, { env })
  await front.ask({}, { authorization: 'Bearer outside' }).over.catch(() => undefined)
  const { code } = await front.process.exited
  assert.equal(code, 1)
  const [crash] = front.logged('crash')
  assert.match(String(crash?.stack), /hidden-cause/)
  // Log lines of earlier requests are not lost.
  assert.equal(front.logged('request').length, 1)
})
