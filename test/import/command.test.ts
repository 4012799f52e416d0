/** `gw import` as a command: where it writes, what it prints, how it ends; and files of other gateways elsewhere. */
import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { parse } from 'yaml'
import { gw } from '../helpers/gw-here.ts'
import { RECIPES, type Recipe } from './recipes.ts'

const folder = await mkdtemp(join(tmpdir(), 'gw-test-'))
after(() => rm(folder, { recursive: true }))

function recipe(name: string): Recipe {
  const found = RECIPES.find((one) => one.name === name)
  assert.ok(found)
  return found
}

test('the configuration goes to standard output, and what has no place to standard error', async () => {
  const { path } = recipe('everything-else.yaml')
  const { code, stdout, stderr } = await gw('import', 'litellm', path)
  assert.equal(code, 0)
  assert.equal(parse(stdout).gw.routes[0].name, 'chat')
  assert.match(
    stderr,
    /everything-else\.yaml:24: no place: general_settings\.database_url: gw has no database/,
  )
  assert.match(stderr, /2 fields taken as they are, \d+ changed, \d+ without a place\n$/)
})

test('with --strict it ends with 1 if a field has no place, and with 0 if each has one', async () => {
  const lossy = await gw('import', 'litellm', recipe('everything-else.yaml').path, '--strict')
  assert.equal(lossy.code, 1)
  const whole = await gw('import', 'litellm', recipe('azure-regions.yaml').path, '--strict')
  assert.equal(whole.code, 0, whole.stderr)
})

test('-o with a path writes a file that only its owner reads, and replaces none unless forced', async () => {
  const { path } = recipe('one-model.yaml')
  const file = join(folder, 'gw.yaml')
  assert.equal((await gw('import', 'litellm', path, '-o', file)).code, 0)
  assert.equal((await stat(file)).mode & 0o777, 0o600)
  const validated = await gw('config', 'validate', '--file', file)
  assert.equal(validated.code, 0, validated.stderr)
  await writeFile(file, 'mine')
  const again = await gw('import', 'litellm', path, '-o', file)
  assert.equal(again.code, 1)
  assert.match(again.stderr, /exists already; give another path, or --force/)
  assert.equal(await readFile(file, 'utf8'), 'mine')
  assert.equal((await gw('import', 'litellm', path, '-o', file, '--force')).code, 0)
  assert.notEqual(await readFile(file, 'utf8'), 'mine')
})

test('-o json has every field with its line, outcome and new place, and -o name the routes', async () => {
  const { path } = recipe('azure-regions.yaml')
  const { stdout } = await gw('import', 'litellm', path, '-o', 'json')
  const { fields } = JSON.parse(stdout)
  const found = fields.find((one: { path: string }) => one.path === 'router_settings.num_retries')
  assert.deepEqual(found, {
    ...{ line: 27, path: 'router_settings.num_retries', outcome: 'changed' },
    became: ['gw.routes[0].retry.max_attempts'],
    note: 'the first attempt counts too',
  })
  assert.equal((await gw('import', 'litellm', path, '-o', 'name')).stdout, 'gpt-4o\n')
  const table = await gw('import', 'litellm', path, '-o', 'table')
  assert.match(table.stdout, /^LINE +FIELD +OUTCOME +BECAME/)
})

test('a file that cannot be read ends with 2, and one with nothing to serve with 1', async () => {
  const missing = await gw('import', 'litellm', join(folder, 'missing.yaml'))
  assert.equal(missing.code, 2)
  const broken = join(folder, 'broken.yaml')
  await writeFile(broken, 'model_list: [')
  const refused = await gw('import', 'litellm', broken)
  assert.equal(refused.code, 2)
  assert.match(refused.stderr, /broken\.yaml:1: not valid YAML/)
  const empty = join(folder, 'empty.yaml')
  await writeFile(empty, 'model_list: [{model_name: a, litellm_params: {model: sagemaker/b}}]')
  const served = await gw('import', 'litellm', empty)
  assert.equal(served.code, 1)
  assert.match(served.stderr, /nothing to serve: no model of the file has a place/)
})

const WORDS = {
  litellm: 'a LiteLLM',
  agentgateway: 'an agentgateway',
  'envoy-ai-gateway': 'an Envoy AI Gateway',
  bifrost: 'a Bifrost',
  portkey: 'a Portkey',
}

for (const { from, name, path } of RECIPES) {
  test(`validate recognises ${from}/${name}, and names the command instead of its fields`, async () => {
    const { code, stderr } = await gw('config', 'validate', '--file', path)
    assert.equal(code, 1)
    assert.equal(stderr.match(/ error: /g)?.length, 1, stderr)
    assert.ok(
      stderr.includes(`This is ${WORDS[from]} configuration: run gw import ${from} ${path}`),
      stderr,
    )
  })
}

test('apply to a cluster recognises it too', async () => {
  const { path } = recipe('one-model.yaml')
  const { code, stderr } = await gw('config', 'validate', '--cluster', '--file', path)
  assert.equal(code, 1)
  assert.match(stderr, /This is a LiteLLM configuration: run gw import litellm /)
})

test('a reference in the form of another program gets one error, with the form of gw', async () => {
  const forms = {
    'os.environ/OPENAI_API_KEY': '${env:OPENAI_API_KEY}',
    $OPENAI_API_KEY: '${env:OPENAI_API_KEY}',
    '"${OPENAI_API_KEY}"': '${env:OPENAI_API_KEY}',
    'env.OPENAI_API_KEY': '${env:OPENAI_API_KEY}',
    '"{{ OPENAI_API_KEY }}"': '${env:OPENAI_API_KEY}',
    'process.env.OPENAI_API_KEY': '${env:OPENAI_API_KEY}',
  }
  const file = join(folder, 'references.yaml')
  for (const [form, own] of Object.entries(forms)) {
    for (const member of ['api_key', 'endpoint', 'model']) {
      const fields = { model: 'm', endpoint: 'https://models.example.com', [member]: form }
      const upstream = Object.entries(fields).map(([key, value]) => `${key}: ${value}`)
      await writeFile(
        file,
        `apiVersion: inference.gw/v1\nkind: GatewayConfig\ngw:\n  upstreams: [{name: a, provider: openai, ${upstream.join(', ')}}]\n` +
          '  routes: [{name: r, strategy: single, upstreams: [a]}]\n',
      )
      const { code, stderr } = await gw('config', 'validate', '--file', file)
      assert.equal(code, 1)
      assert.equal(stderr.match(/ error: /g)?.length, 1, `${member}: ${stderr}`)
      assert.ok(stderr.includes(`fix: Write ${own}.`), stderr)
    }
  }
})
