import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { once } from 'node:events'
import { access, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { after, test } from 'node:test'
import { choosePorts, withPorts } from '../../cli/quickstart/ports.ts'
import { saveLine } from '../../cli/quickstart/saves.ts'
import { paste, QUICKSTART, startQuickstart } from '../helpers/a-quickstart.ts'
import { freePort } from '../helpers/free-port.ts'
import { gw, node } from '../helpers/gw.ts'
import { until } from '../helpers/until.ts'

const EXAMPLE = join(import.meta.dirname, '../../cli/example.yaml')

/** The ports behind it belong to this test as well. */
const from = await freePort()
const taken = createServer().listen(from, '127.0.0.1')
await once(taken, 'listening')
const { printed, logFile, said, interrupt, stop } = await startQuickstart(from)
after(async () => {
  taken.close()
  await stop()
})

test('the printed program for Node gets an answer', async () => {
  const [block = 'false'] = /^node [\s\S]*?^END$/m.exec(printed) ?? []
  assert.equal(await paste(block), 'You said: Hello there\n')
})

test('the printed command of the tool asks this gateway', async () => {
  const [, admin = ''] = /npx gw (status --admin \S+)$/m.exec(printed) ?? []
  const { code, stderr } = await gw(...admin.split(' '))
  assert.deepEqual({ code, stderr }, { code: 0, stderr: '' })
})

test('a port that is taken is said, and the next ones are used', () => {
  assert.match(said(), new RegExp(`^Port ${from} is in use; gateway is on \\d+ instead\\.$`, 'm'))
  assert.equal(said().trim().split('\n').length, 3)
})

test('the access log is in the file that is named, not on the terminal', async () => {
  assert.doesNotMatch(printed, /"event":"start"/)
  assert.match(await readFile(logFile, 'utf8'), /"event":"start"/)
})

test('a save of the configuration is reported on the terminal', async () => {
  const [, file = ''] = /^ {2}Configuration +(\S+)/m.exec(printed) ?? []
  const text = await readFile(file, 'utf8')
  await writeFile(file, text.replace('burst: 150', 'burts: 150'))
  await until('the refusal is printed', () => /refused, the old .*burts.*\n/.test(said()))
  await writeFile(file, text)
  await until('the save is printed', () => /saved: the change is in force\n/.test(said()))
})

test('the banner has the console, which answers, and commands for Claude Code and Codex', async () => {
  const [, url = ''] = /^ {2}Console +(\S+)$/m.exec(printed) ?? []
  assert.equal((await fetch(url)).status, 200)
  assert.match(printed, /^ANTHROPIC_BASE_URL=http:\/\/127\.0\.0\.1:\d+ \\$/m)
  assert.match(printed, /^claude --model chat$/m)
  assert.match(printed, /^codex -m chat .*model_providers\.gw\.wire_api=responses$/ms)
})

test('Ctrl-C ends everything with 0 and leaves no file behind', async () => {
  const [baseUrl = ''] = /http:\S+\/v1$/m.exec(printed) ?? []
  assert.deepEqual(await interrupt(), [0, null])
  await assert.rejects(fetch(baseUrl))
  await assert.rejects(access(dirname(logFile)), { code: 'ENOENT' })
})

test('a save that is taken or refused is one line, and says why', () => {
  const saved = (fields: object) =>
    saveLine(
      JSON.stringify({ time: '2026-01-01T09:08:07.123Z', event: 'config_reload', ...fields }),
    )
  assert.equal(saved({ result: 'success' }), '09:08:07 saved: the change is in force')
  const errors = ['gw.yaml:1:2: error: gw.x: unknown\n    fix: Remove it.', 'another']
  assert.equal(
    saved({ result: 'failure', errors }),
    '09:08:07 refused, the old configuration stays: gw.yaml:1:2: error: gw.x: unknown; fix: Remove it. (and 1 more)',
  )
  assert.equal(saveLine('{"event":"request","path":"/config_reload"}'), undefined)
})

test('an unknown option is a usage error in one sentence', async () => {
  const { code, stderr } = await node(QUICKSTART, '--porrt', '1')
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

test('every line with a value in the example has a comment above it', async () => {
  const lines = (await readFile(EXAMPLE, 'utf8')).trimEnd().split('\n')
  const bare = lines.filter(
    (line, index) => !/^\s*(#|$)/.test(line) && !/^\s*#/.test(lines[index - 1] ?? ''),
  )
  assert.deepEqual(bare, [])
})

test('other ports are put in everywhere at once', async () => {
  const example = await readFile(EXAMPLE, 'utf8')
  const swapped = { gateway: 9000, metrics: 8080, simulator: 9090 }
  const text = withPorts(example, swapped)
  assert.match(text, /listen_port: 9000\n[\s\S]*metrics_port: 8080\n/)
  assert.equal(text.match(/endpoint: http:\/\/127\.0\.0\.1:9090$/gm)?.length, 2)
  assert.ok(text.includes('http://127.0.0.1:9000/v1'))
})

test('chosen ports differ from each other', async () => {
  const wanted = { gateway: from, metrics: from, simulator: from }
  const ports = Object.values(await choosePorts(wanted, '127.0.0.1'))
  assert.equal(new Set(ports).size, 3)
})
