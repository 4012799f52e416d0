/** The installation follows the documents literally, and ends with an answer. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { installCommands, runCommand } from './documented.ts'
import { type SdkAnswer, streamBySdk } from './sdk.ts'
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

after(async () => {
  await world.kubectl(['-n', SPACE, 'delete', 'gatewayconfig', 'quick-start', '--ignore-not-found'])
})

test('the documented commands install a gateway that streams to the official SDK in a pod', async () => {
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

test('pods of the operator and of the gateway comply with restricted Pod Security', async () => {
  const labelled = await world.kubectl([
    ...['label', '--dry-run=server', '--overwrite', 'namespace', SYSTEM, SPACE],
    RESTRICTED,
  ])
  assert.doesNotMatch(labelled, /violate/)
})

/** As documented, with this cluster's image, and with longer waits for a busy machine. */
function fitted(command: string): string | undefined {
  if (command.startsWith('make ')) return undefined
  return command
    .replace('--set image.repository=REGISTRY/gw', imageValues(world.image).join(' '))
    .replace('--timeout=2m', `--timeout=${SECONDS_MAX}s`)
}

async function askFromPod(): Promise<SdkAnswer> {
  const example = readFileSync(join(ROOT, 'charts/gw/examples/quick-start.yaml'), 'utf8')
  const key = /gw_demo_quickstart_\w{40,}/.exec(example)?.[0] ?? ''
  const baseUrl = `http://quick-start.${SPACE}.svc/v1`
  return await streamBySdk(world, {
    baseUrl,
    key,
    model: 'chat',
    content: 'hello there from a pod',
  })
}
