/**
 * The README on a fresh machine: a clone, an empty home folder, the Node of the system. Types what the README and
 * `make run` print, opens the console, and runs Claude Code; writes the transcript to cli/docs/fresh-machine.md.
 */
import assert from 'node:assert/strict'
import { type ChildProcessWithoutNullStreams, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { openConsole, row, show, startBrowser } from '../helpers/console/browser.ts'
import { playOnce } from '../helpers/console/playground.ts'
import { collectOutput } from '../helpers/gateway-process.ts'
import { answers, until } from '../helpers/until.ts'
import { Transcript } from './transcript.ts'

const ROOT = join(import.meta.dirname, '../..')
const README = readFileSync(join(ROOT, 'README.md'), 'utf8')
const CLAUDE_CODE = '@anthropic-ai/claude-code'
const VERSIONS = JSON.parse(readFileSync(join(ROOT, 'test/clients/versions.json'), 'utf8'))

const folder = mkdtempSync(join(tmpdir(), 'gw-fresh-'))
const home = join(folder, 'home')
const clone = join(folder, 'gw')
const programs = join(folder, 'programs')
mkdirSync(home)
// Where packages come from is a matter of the machine.
if (existsSync(join(homedir(), '.npmrc'))) cpSync(join(homedir(), '.npmrc'), join(home, '.npmrc'))
/** Without the Node of this tree, which a fresh machine has not. */
const path = (process.env.PATH ?? '')
  .split(delimiter)
  .filter((one) => !one.includes('node_modules'))
const env = {
  ...process.env,
  HOME: home,
  XDG_CACHE_HOME: undefined,
  XDG_RUNTIME_DIR: undefined,
  NODE_OPTIONS: undefined,
  PATH: [join(programs, 'bin'), ...path].join(delimiter),
}
const transcript = new Transcript(folder, 'cli/docs/fresh-machine.md', 'the transcript')
const started: ChildProcessWithoutNullStreams[] = []
let banner = ''

after(async () => {
  for (const child of started) await stopped(child)
  rmSync(folder, { recursive: true, force: true })
})

interface Typed {
  readonly at?: string
  /** The page shows this in its place. */
  readonly as?: string
}

/** Types a line into a shell, waits for its end, and notes what it prints and how long it takes. */
async function type(line: string, { at = clone, as = line }: Typed = {}): Promise<string> {
  const began = performance.now()
  const running = promisify(execFile)('sh', ['-c', line], { cwd: at, env })
  // A program that finds no terminal may wait for the end of its input.
  running.child.stdin?.end()
  const ran = await running
  // Other programs write their progress there.
  const remarks = line.startsWith('npx gw ') ? ran.stderr : ''
  // The simulated model repeats what an agent tells its model about itself.
  const shown = ran.stdout.replaceAll(/(?:<system-reminder>.*?<\/system-reminder>\s*)+/gs, '… ')
  transcript.add(as, shown + remarks, (performance.now() - began) / 1000)
  return ran.stdout
}

/** Types a line that runs until Ctrl-C, into a separate terminal, and waits until it says so. */
async function start(line: string, ready: (said: string) => Promise<boolean> | boolean) {
  const began = performance.now()
  const child = spawn('sh', ['-c', `exec ${line}`], { cwd: clone, env, detached: true })
  started.push(child)
  const said = collectOutput(child)
  const isOver = () => child.exitCode !== null
  await until(line, () => isOver() || ready(said()), 600)
  assert.ok(!isOver(), said())
  const seconds = (performance.now() - began) / 1000
  transcript.add(line, said(), seconds)
  return { child, said: said() }
}

/** Ctrl-C: a terminal sends it to the whole group. */
async function stopped(child: ChildProcessWithoutNullStreams): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return
  process.kill(-child.pid, 'SIGINT')
  await once(child, 'close')
}

test('make run starts everything in a fresh clone', async () => {
  await type(`git clone --quiet ${ROOT} gw`, { at: folder, as: 'git clone ADDRESS gw && cd gw' })
  const { said } = await start('make run', (text) => text.includes('Press Ctrl-C to stop.'))
  banner = said
  assert.match(banner, /The gateway is ready/)
})

test('what make run prints gives an answer in curl, a stream, and in the SDK for Node', async () => {
  const [first = '', second = ''] = banner.match(/^curl [\s\S]*?'$(?=\n\n)/gm) ?? []
  assert.match(await type(first), /"content":"You said: Hello there"/)
  assert.match(await type(second), /data: \[DONE\]/)
  const [program = ''] = /^node [\s\S]*?^END$/m.exec(banner) ?? []
  assert.equal(await type(program), 'You said: Hello there\n')
})

test('the console opens at its printed address, shows the requests, and sends one', async () => {
  const [, address = ''] = /^ {2}Console +(\S+)$/m.exec(banner) ?? []
  const [, key = ''] = /^ {2}Key +(\S+)$/m.exec(banner) ?? []
  const browser = await startBrowser()
  try {
    const began = performance.now()
    const { page, complaints } = await openConsole(browser, address)
    await show(page, 'requests')
    await row(page, /that ended/, /200\t.*\tchat\t/)
    await playOnce(page, key)
    const answer = (await page.getByLabel('Text of the answer').textContent()) ?? ''
    assert.equal(answer, 'You said: Hello there')
    assert.deepEqual(complaints, [])
    const seen = 'Requests lists the three calls; the playground answers: You said: Hello there'
    transcript.add('the address of Console, in a browser', seen, (performance.now() - began) / 1000)
  } finally {
    await browser.close()
  }
})

test('Claude Code answers with what make run prints', async () => {
  const name = `${CLAUDE_CODE}@${VERSIONS.node[CLAUDE_CODE]}`
  await type(`npm install --global --prefix ../programs ${name}`)
  const [command = ''] = /^ANTHROPIC_BASE_URL=[\s\S]*?--model \w+$/m.exec(banner) ?? []
  const answer = await type(`${command} -p 'Hello there'`, { at: home })
  assert.match(answer, /You said: .*Hello there/s)
})

test('the commands below the file of the README make a key, validate, run and explain', async () => {
  for (const child of started) await stopped(child)
  const [, text = ''] = /```yaml\n(apiVersion[\s\S]*?)```/.exec(README) ?? []
  // The README: no OpenAI key? Delete `hosted` in both places.
  const alone = text.replace(/ {4}- name: hosted\n( {6}.*\n)*/, '').replace(/ +fallback: .*\n/, '')
  writeFileSync(join(clone, 'gw.yaml'), alone)
  const commands = [...README.matchAll(/^npx (gw .*?)(?: +#.*)?$/gm)].map(
    ([, words]) => `npx ${words}`,
  )
  const [create = '', validate = '', run = '', ...questions] = commands
  await start('npx gw simulate --port 8000', () => answers('http://127.0.0.1:8000/health'))
  const [key = ''] = /gw_live_\w+/.exec(await type(create)) ?? []
  assert.match(await type(validate), /^ok: /m)
  await start(run, () => answers('http://127.0.0.1:8080/readyz'))
  for (const question of questions) await type(question)
  assert.equal(questions.length, 3)
  const asked = await type(
    `curl -s http://127.0.0.1:8080/v1/chat/completions -H "Authorization: Bearer ${key}" \\
  -H 'Content-Type: application/json' -d '{"model": "gpt-4o", "messages": [{"role": "user", "content": "Hello"}]}'`,
  )
  assert.match(asked, /You said: Hello/)
  await transcript.write()
})
