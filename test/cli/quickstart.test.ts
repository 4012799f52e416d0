import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { hash } from 'node:crypto'
import { once } from 'node:events'
import { readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { delimiter, dirname, join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { choosePorts, withPorts } from '../../cli/quickstart/ports.ts'
import { freePort } from '../integration/gateway-process.ts'
import { gw, node } from './gw.ts'

const root = join(import.meta.dirname, '../..')
const PROGRAM = join(root, 'cli/quickstart.ts')
const EXAMPLE = join(root, 'cli/example.yaml')
const END = 'Press Ctrl-C to stop.\n'

/** The ports behind it belong to this test as well. */
const from = await freePort()
const taken = createServer().listen(from, '127.0.0.1')
await once(taken, 'listening')

const flags = ['port', 'metrics-port', 'admin-port', 'simulator-port']
const child = spawn(process.execPath, [PROGRAM, ...flags.map((flag) => `--${flag}=${from}`)], {
  stdio: 'pipe',
})
const exited = once(child, 'exit')
const errors: string[] = []
child.stderr.setEncoding('utf8').on('data', (text: string) => errors.push(text))
const printed = await readUntilReady()
const logFile = /^ {2}Log +(\S+)$/m.exec(printed)?.[1] ?? ''
after(async () => {
  child.kill('SIGKILL')
  taken.close()
  await rm(dirname(logFile), { recursive: true })
})

async function readUntilReady(): Promise<string> {
  let text = ''
  for await (const piece of child.stdout.setEncoding('utf8')) {
    text += piece
    if (text.endsWith(END)) return text
  }
  throw new Error(`It ended before it was ready: ${text}${errors.join('')}`)
}

/** Pastes a printed block into a shell, as a reader would. */
async function paste(block: string): Promise<string> {
  const path = [join(root, 'node_modules/.bin'), process.env.PATH].join(delimiter)
  const env = { ...process.env, PATH: path }
  const { stdout } = await promisify(execFile)('sh', ['-c', block], { cwd: root, env })
  return stdout
}

const curls = printed.match(/^curl [\s\S]*?'$(?=\n\n)/gm) ?? []

test('the printed curl line gets an answer', async () => {
  const answer = JSON.parse(await paste(curls[0] ?? 'false'))
  assert.equal(answer.choices[0].message.content, 'You said: Hello there')
})

test('the second one gets a stream', async () => {
  const lines = (await paste(curls[1] ?? 'false')).split('\n\n')
  assert.ok(lines.includes('data: [DONE]'))
  assert.ok(lines.length > 5)
})

test('the printed program for Node gets an answer', async () => {
  const [block = 'false'] = /^node [\s\S]*?^END$/m.exec(printed) ?? []
  assert.equal(await paste(block), 'You said: Hello there\n')
})

test('the printed program for Python asks the same of the same place', () => {
  const [block = ''] = /^python3 [\s\S]*?^END$/m.exec(printed) ?? []
  const [, baseUrl] = /Base URL +(\S+)/.exec(printed) ?? []
  assert.ok(block.includes(`base_url="${baseUrl}"`))
  assert.ok(block.includes('model="gpt-4o"'))
})

test('a port that is taken is said, and the next ones are used', () => {
  const said = errors.join('')
  assert.match(said, new RegExp(`^Port ${from} is in use; gateway is on \\d+ instead\\.$`, 'm'))
  assert.equal(said.trim().split('\n').length, 4)
})

test('the access log is in the file that is named, not on the terminal', async () => {
  assert.doesNotMatch(printed, /"event":"start"/)
  assert.match(await readFile(logFile, 'utf8'), /"event":"start"/)
})

test('Ctrl-C ends everything with 0', async () => {
  const [baseUrl = ''] = /http:\S+\/v1$/m.exec(printed) ?? []
  child.kill('SIGINT')
  assert.deepEqual(await exited, [0, null])
  await assert.rejects(fetch(baseUrl))
})

test('an unknown option is a usage error in one sentence', async () => {
  const { code, stderr } = await node(PROGRAM, '--porrt', '1')
  assert.equal(code, 64)
  assert.match(stderr, /^error: .*--porrt.*\n$/)
})

test('the example is valid, without a warning', async () => {
  const { code, stderr } = await gw('config', 'validate', '--strict', '--file', EXAMPLE)
  assert.deepEqual({ code, stderr }, { code: 0, stderr: '' })
})

test('the example holds the hash of the key that is printed', async () => {
  const [, key = ''] = /^ {2}Key +(\S+)$/m.exec(printed) ?? []
  const example = await readFile(EXAMPLE, 'utf8')
  assert.ok(example.includes(`sha256:${hash('sha256', key)}`))
  assert.ok(example.includes(key))
})

test('every line of the example that says something has a comment above it', async () => {
  const lines = (await readFile(EXAMPLE, 'utf8')).trimEnd().split('\n')
  const bare = lines.filter(
    (line, index) => !/^\s*(#|$)/.test(line) && !/^\s*#/.test(lines[index - 1] ?? ''),
  )
  assert.deepEqual(bare, [])
})

test('other ports are put in everywhere at once', async () => {
  const example = await readFile(EXAMPLE, 'utf8')
  const swapped = { gateway: 9000, metrics: 8080, admin: 9090, simulator: 9091 }
  const text = withPorts(example, swapped)
  assert.match(text, /listen_port: 9000\n[\s\S]*metrics_port: 8080\n[\s\S]*admin_port: 9090\n/)
  assert.equal(text.match(/endpoint: http:\/\/127\.0\.0\.1:9091$/gm)?.length, 2)
  assert.ok(text.includes('http://127.0.0.1:9000/v1'))
})

test('chosen ports differ from each other', async () => {
  const wanted = { gateway: from, metrics: from, admin: from, simulator: from }
  const ports = Object.values(await choosePorts(wanted, '127.0.0.1'))
  assert.equal(new Set(ports).size, 4)
})
