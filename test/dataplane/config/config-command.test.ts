/** `gw config` as a script sees it: output, standard error and exit code. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { aDocument } from './documents.ts'

const command = new URL('../../../cli/commands/documents/config.ts', import.meta.url).href
const program = `import { config } from ${JSON.stringify(command)}
await config.parseAsync(process.argv.slice(1), { from: 'user' })`

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

function gw(words: string[], input = '') {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--input-type=module', '-e', program, '--', ...words],
    { input, encoding: 'utf8', env: { ...process.env, NODE_NO_WARNINGS: '1' } },
  )
  return { status, stdout, stderr }
}

test('a sound file is told in one line', () => {
  assert.deepEqual(gw(['validate', '--file', sound]), {
    status: 0,
    stdout: `ok: ${sound}: 1 route, 2 upstreams, 1 key\n`,
    stderr: '',
  })
})

test('warnings end with 0, and with 1 under --strict', () => {
  const { status, stdout, stderr } = gw(['validate', '--file', warned])
  assert.equal(status, 0)
  assert.match(stdout, /1 key, 1 warning\n$/)
  assert.match(stderr, /warned\.yaml:4:32: warning: gw\.gateway\.keepalive_seconds: /)
  assert.equal(gw(['validate', '--strict', '--file', warned]).status, 1)
})

test('a broken file ends with 1, its problems for people on standard error', () => {
  const { status, stdout, stderr } = gw(['validate', '--file', broken])
  assert.equal(status, 1)
  assert.equal(stdout, '')
  assert.match(stderr, /error: gw\.gateway\.keepalive: unknown field/)
  assert.match(stderr, /fix: /)
})

test('the Kubernetes shape is judged as a cluster judges it, by line and with the nearest name', () => {
  const spec =
    'spec:\n  replica: 3\n  service: {type: Loadbalancer}\n  autoscaling: {minReplicas: 2}\n'
  const file = aFile('spec.yaml', aDocument().replace('gw:\n', `${spec}gw:\n`))
  const { status, stderr } = gw(['validate', '--file', file])
  assert.equal(status, 1)
  assert.match(stderr, /spec\.yaml:4:3: error: spec\.replica: .*did you mean "replicas"\?/)
  assert.match(
    stderr,
    /spec\.yaml:5:19: error: spec\.service\.type: .*did you mean "LoadBalancer"\?/,
  )
  assert.match(stderr, /spec\.yaml:6:3: error: spec\.autoscaling: maxReplicas is required/)
  assert.equal(gw(['show', '--resolved', '--file', file]).status, 1)
  const section = aDocument().replace('gw:\n', 'spec:\n  routes: []\ngw:\n')
  const moved = gw(['validate', '--file', aFile('moved.yaml', section)])
  assert.match(moved.stderr, /spec\.routes: unknown field[\s\S]*Move routes under gw:/)
})

test('-o json prints the same for programs', () => {
  const { status, stdout, stderr } = gw(['validate', '--file', broken, '-o', 'json'])
  assert.equal(status, 1)
  assert.equal(stderr, '')
  const { ok, errors, problems } = JSON.parse(stdout)
  assert.deepEqual([ok, errors, problems[0].line], [false, 1, 4])
})

test('--explain adds the way of a request', () => {
  const { stdout } = gw(['validate', '--file', sound, '--explain'])
  assert.match(stdout, /^route r\n {2}reached by model: r/)
  assert.match(stdout, /\nok: /)
})

test('standard input is a file, and the resolved form is valid input', () => {
  const { status, stdout } = gw(['show', '--resolved', '--file', '-'], aDocument())
  assert.equal(status, 0)
  const again = gw(['validate', '--file', '-'], stdout)
  assert.equal(again.stdout, 'ok: stdin: 1 route, 2 upstreams, 1 key\n')
  const json = gw(['show', '--resolved', '--file', '-', '-o', 'json'], stdout)
  assert.equal(JSON.parse(json.stdout).gw.gateway.listen_port, 8080)
})

test('a file that cannot be read ends with 2, wrong usage with 64', () => {
  assert.equal(gw(['validate', '--file', join(folder, 'none.yaml')]).status, 2)
  assert.equal(gw(['validate']).status, 64)
  assert.equal(gw(['validate', '--file', sound, '-o', 'xml']).status, 64)
  assert.equal(gw(['show', '--file', sound]).status, 64)
  assert.equal(gw(['--help']).status, 0)
})
