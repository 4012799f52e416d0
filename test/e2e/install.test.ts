/** What the documents say about installing is done word by word, and ends with an answer. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { glob, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { installCommands, runCommand } from './documented.ts'
import { clientPod, clientPrograms } from './objects.ts'
import { SPACE, SYSTEM } from './spaces.ts'
import { show } from './table.ts'
import { imageValues, openWorld, ROOT, SECONDS_MAX, type World } from './world.ts'

const DOCUMENT = 'charts/gw/README.md'
const RESTRICTED = 'pod-security.kubernetes.io/enforce=restricted'
let world: World

before(async () => {
  world = await openWorld()
  await world.helm('uninstall', 'gw', '-n', SYSTEM, '--ignore-not-found', '--wait')
  await world.kubectl(['delete', 'namespace', SPACE, '--ignore-not-found', '--wait'])
})

test('the documented commands lead to a gateway that streams to the official SDK in a pod', async () => {
  const ran: string[] = []
  for (const documented of installCommands(DOCUMENT)) {
    const command = fitted(documented)
    if (command === undefined) continue
    await runCommand(command)
    ran.push(command)
    if (command.startsWith(`kubectl create namespace ${SPACE}`)) {
      await world.kubectl(['label', 'namespace', SPACE, RESTRICTED])
    }
  }
  assert.match(ran.join('\n'), /helm install.*\n.*kubectl apply.*\n.*kubectl wait/s)
  const answer = await askFromPod()
  assert.match(answer.text, /hello there/)
  assert.ok(answer.pieces > 1, JSON.stringify(answer))
  const commands = ran.length
  show('quickstart', `${commands} commands; ${answer.pieces} pieces: ${answer.text.slice(0, 40)}`)
})

test('pods of the operator and of the gateway meet the restricted Pod Security', async () => {
  const labelled = await world.kubectl([
    ...['label', '--dry-run=server', '--overwrite', 'namespace', SYSTEM, SPACE],
    RESTRICTED,
  ])
  assert.doesNotMatch(labelled, /violate/)
})

/** As documented, with this cluster's image, and with patience for a busy machine. */
function fitted(command: string): string | undefined {
  if (command.startsWith('make ')) return undefined
  return command
    .replace('--set image.repository=REGISTRY/gw', imageValues(world.image).join(' '))
    .replace('--timeout=2m', `--timeout=${SECONDS_MAX}s`)
}

/** The official client in a pod that is given nothing but the address and the key. */
async function askFromPod(): Promise<{ readonly text: string; readonly pieces: number }> {
  const example = readFileSync(join(ROOT, 'charts/gw/examples/quick-start.yaml'), 'utf8')
  const key = /gw_demo_quickstart_\w{40,}/.exec(example)?.[0] ?? ''
  const wait = ['node', '-e', 'process.on("SIGTERM", process.exit); setInterval(() => {}, 1e9)']
  const env = { OPENAI_BASE_URL: `http://quick-start.${SPACE}.svc/v1`, OPENAI_API_KEY: key }
  const { image, kubectl } = world
  await world.apply(clientPrograms(), clientPod({ name: 'sdk', image, command: wait, env }))
  const ready = ['wait', '--for=condition=Ready', 'pod/sdk', `--timeout=${SECONDS_MAX}s`]
  await kubectl(['-n', SPACE, ...ready])
  const exec = ['-n', SPACE, 'exec', '-i', 'sdk', '--', 'node']
  await kubectl([...exec, '-e', UNPACK], { stdin: JSON.stringify(await filesOfSdk()) })
  const text = await kubectl([...exec, '/scratch/stream.ts', 'chat', 'hello there from a pod'])
  await kubectl(['-n', SPACE, 'delete', 'pod', 'sdk', '--wait=false'])
  return JSON.parse(text)
}

const UNPACK = `
const { mkdirSync, readFileSync, writeFileSync } = require('node:fs')
const { dirname, join } = require('node:path')
for (const [name, text] of Object.entries(JSON.parse(readFileSync(0, 'utf8')))) {
  mkdirSync(dirname(join('/scratch', name)), { recursive: true })
  writeFileSync(join('/scratch', name), text)
}`

/** The package as it is installed here, without what is not run. */
async function filesOfSdk(): Promise<Record<string, string>> {
  const cwd = join(ROOT, 'node_modules/openai')
  const files: Record<string, string> = {
    'stream.ts': await readFile(join(import.meta.dirname, 'client/stream.ts'), 'utf8'),
  }
  const take = async (name: string) => {
    files[`node_modules/openai/${name}`] = await readFile(join(cwd, name), 'utf8')
  }
  await take('package.json')
  for await (const name of glob('**/*.{js,mjs}', { cwd, exclude: ['src/**'] })) await take(name)
  return files
}
