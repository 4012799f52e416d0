/** `gw init`: four answers become a configuration that a gateway takes; `gw run` finds it. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { answersOf } from '../../cli/init/questions.ts'
import { PROVIDER_FACTS, PROVIDER_NAMES } from '../../dataplane/providers/index.ts'
import { freePort } from '../helpers/free-port.ts'
import { collectOutput } from '../helpers/gateway-process.ts'
import { TOOL } from '../helpers/gw.ts'
import { gw } from '../helpers/gw-here.ts'
import { answers, until } from '../helpers/until.ts'

const folder = await mkdtemp(join(tmpdir(), 'gw-test-'))
after(() => rm(folder, { recursive: true }))

const init = (file: string, ...args: readonly string[]) =>
  gw('init', '--file', join(folder, file), ...args)

for (const provider of PROVIDER_NAMES) {
  test(`without a terminal, options make a file for ${provider} that validates`, async () => {
    const place = provider === 'azure_openai' ? ['--endpoint', 'https://a.openai.azure.com'] : []
    const file = `${provider}.yaml`
    const made = await init(file, '--provider', provider, '--model', 'a/model', ...place)
    assert.deepEqual([made.code, made.stderr], [0, ''])
    assert.match(made.stdout, /^gw_live_team-\S+$/m)
    const judged = await gw('config', 'validate', join(folder, file))
    assert.equal(judged.code, 0, judged.stderr)
  })
}

test('on a terminal it asks four things, and none that an option answers', async () => {
  const asked: string[] = []
  const ask = async (question: string, initial: string | undefined) => {
    asked.push(question)
    return initial ?? 'said'
  }
  const first = await answersOf({}, PROVIDER_FACTS, ask)
  assert.equal(asked.length, 4, asked.join('; '))
  assert.deepEqual(first, {
    provider: 'openai',
    model: 'said',
    apiKeyEnv: 'OPENAI_API_KEY',
    endpoint: undefined,
    region: undefined,
    tenant: 'team',
  })
  asked.length = 0
  await answersOf({ provider: 'vllm', model: 'm', tenant: 'red' }, PROVIDER_FACTS, ask)
  assert.deepEqual(asked, ['Its address'])
})

test('without a terminal, an answer that is missing is wrong usage and names its option', async () => {
  const { code, stderr } = await init('missing.yaml', '--provider', 'openai')
  assert.deepEqual([code, stderr], [64, 'error: without a terminal, give --model\n'])
})

test('a file that exists stays as it is', async () => {
  const file = join(folder, 'mine.yaml')
  await writeFile(file, 'mine')
  const { code, stderr } = await init('mine.yaml', '--provider', 'openai', '--model', 'm')
  assert.equal(code, 1)
  assert.match(stderr, /mine\.yaml exists already; give another file with --file/)
  assert.equal(await readFile(file, 'utf8'), 'mine')
})

test('an address that no gateway would call is refused, and nothing is written', async () => {
  const wrong = ['--provider', 'vllm', '--model', 'm', '--endpoint', 'http://169.254.169.254']
  const { code, stderr } = await init('wrong.yaml', ...wrong)
  assert.equal(code, 1)
  assert.match(stderr, /link-local.*refused: nothing was written/s)
  await assert.rejects(readFile(join(folder, 'wrong.yaml')))
})

test('gw run takes ./gw.yaml, and says how to make one', async (t) => {
  const metrics = await freePort()
  await init('gw.yaml', '--provider', 'vllm', '--model', 'm')
  const env = {
    ...process.env,
    GW_LISTEN_PORT: String(await freePort()),
    GW_METRICS_PORT: String(metrics),
  }
  const child = spawn(process.execPath, [TOOL, 'run'], { cwd: folder, env })
  t.after(() => child.kill('SIGKILL'))
  collectOutput(child)
  const exited = once(child, 'exit')
  await until('it serves', () => answers(`http://127.0.0.1:${metrics}/metrics`))
  child.kill('SIGTERM')
  await exited
  const empty = spawn(process.execPath, [TOOL, 'run'], {
    cwd: await mkdtemp(join(folder, 'empty-')),
  })
  const output = collectOutput(empty)
  const [code] = await once(empty, 'close')
  assert.equal(code, 64)
  assert.match(
    output(),
    /there is no \.\/gw\.yaml; give a file with --file, or make one with `gw init`/,
  )
})
