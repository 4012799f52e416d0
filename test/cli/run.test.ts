import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { withPorts } from '../../cli/quickstart/ports.ts'
import { freePort } from '../helpers/free-port.ts'
import { gw, TOOL } from '../helpers/gw.ts'
import { answers, until } from '../helpers/until.ts'

const folder = await mkdtemp(join(tmpdir(), 'gw-test-'))
after(() => rm(folder, { recursive: true }))

const example = await readFile(join(import.meta.dirname, '../../cli/example.yaml'), 'utf8')

async function aConfiguration() {
  const ports = {
    gateway: await freePort(),
    metrics: await freePort(),
    simulator: await freePort(),
  }
  const file = join(folder, `${ports.gateway}.yaml`)
  await writeFile(file, withPorts(example, ports))
  return { ports, file }
}

test('it serves until SIGTERM and ends with 0', async () => {
  const { ports, file } = await aConfiguration()
  const child = spawn(process.execPath, [TOOL, 'run', '--file', file], { stdio: 'ignore' })
  const exited = once(child, 'exit')
  try {
    await until('it is ready', () => answers(`http://127.0.0.1:${ports.gateway}/readyz`))
  } finally {
    child.kill('SIGTERM')
  }
  assert.deepEqual(await exited, [0, null])
})

test('all ports in use are said in one sentence, with what to set instead', async () => {
  const { ports, file } = await aConfiguration()
  const others = [ports.metrics, ports.gateway].map((port) =>
    createServer().listen(port, '127.0.0.1'),
  )
  await Promise.all(others.map((other) => once(other, 'listening')))
  const { code, stderr } = await gw('run', '--file', file)
  for (const other of others) other.close()
  assert.equal(code, 1)
  const taken = `127.0.0.1:${ports.metrics} and 127.0.0.1:${ports.gateway} are in use`
  const settings =
    'gw.gateway.metrics_port (GW_METRICS_PORT) and gw.gateway.listen_port (GW_LISTEN_PORT)'
  const advice = `stop what listens there or choose other ports with ${settings}`
  assert.equal(stderr, `error: ${taken}; ${advice}\n`)
})

test('a file that cannot be read is said in one sentence', async () => {
  const { code, stderr } = await gw('run', '--file', join(folder, 'absent.yaml'))
  assert.notEqual(code, 0)
  assert.match(stderr, /^error: cannot read .*absent\.yaml: .*\n$/)
})

test('a configuration with an error starts nothing and names the line', async () => {
  const { file } = await aConfiguration()
  await writeFile(file, (await readFile(file, 'utf8')).replace('round_robin', 'round_robbin'))
  const { code, stdout, stderr } = await gw('run', '--file', file)
  assert.notEqual(code, 0)
  assert.equal(stdout, '')
  assert.match(stderr, /round_robin/)
  assert.match(stderr, /nothing was started/)
})

/** Each start of the process writes its program, and each module of the tool that it loads. */
const NOTE = `
  import { registerHooks } from 'node:module'
  process.stdout.write(process.argv[1] + '\\n')
  registerHooks({
    load(url, context, next) {
      if (url.includes('/cli/')) process.stdout.write(url + '\\n')
      return next(url, context)
    },
  })`

/** Before standard output of the program itself. */
async function noted(...args: readonly string[]): Promise<readonly string[]> {
  const options = `--import=data:text/javascript,${encodeURIComponent(NOTE)}`
  const child = spawn(process.execPath, [TOOL, ...args], {
    env: { ...process.env, NODE_OPTIONS: options },
  })
  child.stderr.resume()
  const [text] = await Promise.all([
    Array.fromAsync(child.stdout.setEncoding('utf8')),
    once(child, 'close'),
  ])
  return text.join('').split('\n')
}

test('the gateway restarts itself without the tool', async () => {
  const lines = await noted('run', '--file', join(folder, 'absent.yaml'))
  const second = lines.findIndex((line) => line.endsWith('dataplane/main.ts'))
  assert.ok(second > 0, lines.join('\n'))
  assert.deepEqual(
    lines.slice(second + 1).filter((line) => line.includes('/cli/')),
    [],
  )
})

test('it loads no other command of the tool', async () => {
  const lines = await noted('run', '--help')
  const commands = lines.filter((line) => line.includes('/cli/commands/'))
  assert.deepEqual(commands.map((line) => line.replace(/.*\//, '')).toSorted(), [
    'help.ts',
    'run.ts',
  ])
})
