/** `gw config` for a script: output, standard error and exit code. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { TOOL } from '../../helpers/gw.ts'
import { gw } from '../../helpers/gw-here.ts'
import { aDocument } from './documents.ts'

const folder = mkdtempSync(join(tmpdir(), 'gw-config-'))
after(() => rmSync(folder, { recursive: true }))

const sound = aFile('sound.yaml', aDocument())
const warned = aFile('warned.yaml', aDocument('  gateway: {keepalive_seconds: 30}'))
const broken = aFile('broken.yaml', aDocument('  gateway: {keepalive: 30}'))

function aFile(name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

const config = (...words: readonly string[]) => gw('config', ...words)

function withInput(input: string, ...words: readonly string[]) {
  const { status, stdout } = spawnSync(process.execPath, [TOOL, 'config', ...words], {
    input,
    encoding: 'utf8',
  })
  return { code: status, stdout }
}

test('a valid file gets one line', async () => {
  assert.deepEqual(await config('validate', '--file', sound), {
    code: 0,
    stdout: `ok: ${sound}: 1 route, 2 upstreams, 1 key\n`,
    stderr: '',
  })
})

test('warnings end with 0, and with 1 under --strict', async () => {
  const { code, stdout, stderr } = await config('validate', '--file', warned)
  assert.equal(code, 0)
  assert.match(stdout, /1 key, 1 warning\n$/)
  assert.match(stderr, /warned\.yaml:4:32: warning: gw\.gateway\.keepalive_seconds: /)
  assert.equal((await config('validate', '--strict', '--file', warned)).code, 1)
})

test('a key for a public host without TLS is named, and refused under --strict', async () => {
  const upstreams =
    '  upstreams: [{name: a, provider: openai, endpoint: "http://api.vendor.com", model: m, api_key: "${env:HOME}", context_window: 8192}]\n'
  const routes = '  routes: [{name: r, strategy: single, primary: a}]\n'
  const clear = aFile('clear.yaml', aDocument(upstreams + routes))
  const { code, stderr } = await config('validate', '--file', clear)
  assert.equal(code, 0)
  assert.match(
    stderr,
    /warning: gw\.upstreams\[0\]\.endpoint: sends a credential to api\.vendor\.com/,
  )
  assert.equal((await config('validate', '--strict', '--file', clear)).code, 1)
})

test('a broken file exits with 1, and its problems are on standard error', async () => {
  const { code, stdout, stderr } = await config('validate', '--file', broken)
  assert.equal(code, 1)
  assert.equal(stdout, '')
  assert.match(stderr, /error: gw\.gateway\.keepalive: unknown field/)
  assert.match(stderr, /fix: /)
})

test('the Kubernetes shape is checked as in a cluster, by line and with the nearest name', async () => {
  const spec =
    'spec:\n  replica: 3\n  service: {type: Loadbalancer}\n  autoscaling: {minReplicas: 2}\n'
  const file = aFile('spec.yaml', aDocument().replace('gw:\n', `${spec}gw:\n`))
  const { code, stderr } = await config('validate', '--file', file)
  assert.equal(code, 1)
  assert.match(stderr, /spec\.yaml:4:3: error: spec\.replica: .*did you mean "replicas"\?/)
  assert.match(
    stderr,
    /spec\.yaml:5:19: error: spec\.service\.type: .*did you mean "LoadBalancer"\?/,
  )
  assert.match(stderr, /spec\.yaml:6:3: error: spec\.autoscaling: maxReplicas is required/)
  assert.equal((await config('show', '--resolved', '--file', file)).code, 1)
  const section = aDocument().replace('gw:\n', 'spec:\n  routes: []\ngw:\n')
  const moved = await config('validate', '--file', aFile('moved.yaml', section))
  assert.match(moved.stderr, /spec\.routes: unknown field[\s\S]*Move routes under gw:/)
})

test('-o json prints the same for programs', async () => {
  const { code, stdout, stderr } = await config('validate', '--file', broken, '-o', 'json')
  assert.equal(code, 1)
  assert.equal(stderr, '')
  const { ok, errors, problems } = JSON.parse(stdout)
  assert.deepEqual([ok, errors, problems[0].line], [false, 1, 4])
})

test('--explain adds the path of a request', async () => {
  const { stdout } = await config('validate', '--file', sound, '--explain')
  assert.match(stdout, /^route r\n {2}reached by model: r/)
  assert.match(stdout, /\nok: /)
})

test('standard input is a file, and the resolved form is valid input', async () => {
  const { code, stdout } = withInput(aDocument(), 'show', '--resolved', '--file', '-')
  assert.equal(code, 0)
  const again = withInput(stdout, 'validate', '--file', '-')
  assert.equal(again.stdout, 'ok: stdin: 1 route, 2 upstreams, 1 key\n')
  const json = withInput(stdout, 'show', '--resolved', '--file', '-', '-o', 'json')
  assert.equal(JSON.parse(json.stdout).gw.gateway.listen_port, 8080)
})

test('a file that cannot be read exits with 2, wrong usage with 64', async () => {
  assert.equal((await config('validate', '--file', join(folder, 'none.yaml'))).code, 2)
  assert.equal((await config('validate')).code, 64)
  assert.equal((await config('validate', '--file', sound, '-o', 'xml')).code, 64)
  assert.equal((await config('show', '--file', sound)).code, 64)
  assert.equal((await config('--help')).code, 0)
})
