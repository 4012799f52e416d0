/** `gw keys create --file`: the record goes into the file, and every other byte stays. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { parse } from 'yaml'
import { startFront } from '../helpers/fake-upstream.ts'
import { gw } from '../helpers/gw-here.ts'
import { until } from '../helpers/until.ts'

const folder = await mkdtemp(join(tmpdir(), 'gw-test-'))
after(() => rm(folder, { recursive: true }))
let files = 0

async function aFile(text: string, name = 'gw.yaml'): Promise<string> {
  files++
  const at = join(folder, String(files))
  await mkdir(at)
  await writeFile(join(at, name), text, { mode: 0o640 })
  return join(at, name)
}

const create = (file: string, ...more: readonly string[]) =>
  gw('keys', 'create', '--tenant', 'me', '--routes', '*', '--id', 'new', '--file', file, ...more)

const HEAD = '# ours\napiVersion: inference.gw/v1\nkind: GatewayConfig\ngw:\n'
const RECORD = 'id: old, tenant: acme, hash: "x", routes: ["*"]'

const LAYOUTS = [
  [
    'a list further in',
    `${HEAD}  api_keys:\n    # Ada's\n    - { ${RECORD} }   # keep\n\n  aliases: { a: b }\n`,
  ],
  [
    'a list under its name',
    `${HEAD}  api_keys:\n  - id: old\n    tenant:   acme\n  aliases: {a: b}\n`,
  ],
  ['a list at the end without a newline', `${HEAD}  api_keys:\n    - id: old\n      tenant: acme`],
  ['no list', `${HEAD}  aliases: { a: b } # names\n  rate_limits: {}\n# the end\n`],
  ['a separate list', `# keys\n- id: old # Ada's\n  tenant: acme\n`],
  ['a list under api_keys', `api_keys:\n  - id: old\n`],
] as const

for (const [layout, text] of LAYOUTS) {
  test(`into ${layout} it puts lines and changes none`, async () => {
    const file = await aFile(text)
    const { code, stdout, stderr } = await create(file)
    assert.equal(code, 0, stderr)
    const after = await readFile(file, 'utf8')
    const lines = after.split('\n')
    const kept = text.split('\n').every((line) => lines.includes(line))
    assert.ok(kept, after)
    const tree = parse(after)
    const list = Array.isArray(tree) ? tree : (tree.api_keys ?? tree.gw.api_keys)
    const { id, tenant, hash, prefix } = list.at(-1)
    assert.deepEqual([id, tenant], ['new', 'me'])
    assert.match(hash, /^sha256:[0-9a-f]{64}$/)
    const [key = ''] = /^gw_live_new_\S+$/m.exec(stdout) ?? []
    assert.ok(key.startsWith(prefix) && !after.includes(key))
    assert.equal(stdout.split(key).length, 2)
    assert.ok(stdout.includes(`stored as "new" in ${file}`))
    assert.equal((await stat(file)).mode & 0o777, 0o640)
    assert.equal((await readdir(join(file, '..'))).length, 1)
  })
}

for (const [layout, list] of [
  ['an empty list', 'api_keys: []'],
  ['a name without a list', 'api_keys:'],
  ['a list on one line', 'api_keys: [{id: old, tenant: acme}]'],
] as const) {
  test(`the record is also added to ${layout}, and comments stay`, async () => {
    const file = await aFile(`${HEAD}  ${list}\n  aliases: {a: b} # names\n`)
    assert.equal((await create(file)).code, 0)
    const after = await readFile(file, 'utf8')
    assert.equal(parse(after).gw.api_keys.at(-1).id, 'new')
    assert.ok(after.startsWith(HEAD) && after.includes('aliases: {a: b} # names\n'), after)
  })
}

test('the key file of a configuration gets the record, even if the file does not exist yet', async () => {
  const file = await aFile(`${HEAD}  api_keys_file: keys.yaml\n`)
  const keys = join(file, '../keys.yaml')
  const before = await readFile(file, 'utf8')
  assert.equal((await create(file)).code, 0)
  assert.equal(await readFile(file, 'utf8'), before)
  assert.equal(parse(await readFile(keys, 'utf8'))[0].id, 'new')
  assert.equal((await stat(keys)).mode & 0o777, 0o600)
  const revoked = await gw('keys', 'revoke', '--id', 'new', '--file', file)
  assert.equal(revoked.code, 0, revoked.stderr)
  assert.ok(parse(await readFile(keys, 'utf8'))[0].revoked_at)
})

test('an existing id and an unknown route are refused, and the file stays unchanged', async () => {
  const routes = '  routes:\n    - { name: chat, strategy: single, primary: a }\n'
  const file = await aFile(`${HEAD}${routes}  api_keys:\n    - { ${RECORD} }\n`)
  const before = await readFile(file, 'utf8')
  const twice = await create(file, '--id', 'old')
  assert.equal(twice.code, 1)
  assert.match(twice.stderr, /^error: There is a key "old" already/)
  const unknown = await create(file, '--routes', 'chta')
  assert.equal(unknown.code, 1)
  assert.match(unknown.stderr, /^error: There is no route "chta" in .*; its routes: chat\.\n$/)
  assert.equal(twice.stdout + unknown.stdout, '')
  assert.equal(await readFile(file, 'utf8'), before)
  const both = await create(file, '--apply')
  assert.equal(both.code, 64)
  const missing = join(folder, 'none.yaml')
  assert.equal((await create(missing)).code, 2)
  assert.ok(!existsSync(missing))
})

test('a tag is added to the record if the file declares it, and is refused otherwise', async () => {
  const list = `  api_keys:\n    - { ${RECORD} }\n`
  const file = await aFile(`${HEAD}  usage: { tags: [team] } # ours\n${list}`)
  assert.equal((await create(file, '--tag', 'team=blue')).code, 0)
  const text = await readFile(file, 'utf8')
  assert.ok(text.includes('      tags:\n        team: blue\n'), text)
  const none = await aFile(HEAD + list)
  for (const [path, names] of [
    [file, 'team'],
    [none, 'none'],
  ] as const) {
    const before = await readFile(path, 'utf8')
    const refused = await create(path, '--id', 'other', '--tag', 'taem=blue')
    assert.equal(refused.code, 1)
    const says = `error: usage.tags of ${path} does not declare "taem"; its tags: ${names}.\n`
    assert.equal(refused.stderr, says)
    assert.equal(await readFile(path, 'utf8'), before)
  }
  const separate = await aFile(`# keys\n- { ${RECORD} }\n`)
  assert.equal((await create(separate, '--tag', 'taem=blue')).code, 0)
})

test('a list that an alias writes is refused, and the file stays', async () => {
  const text = `x: &keys\n  - {${RECORD}}\ngw:\n  api_keys: *keys\n  routes: [{name: chat}]\n`
  const path = await aFile(text)
  const { code, stderr } = await create(path)
  assert.equal(code, 2)
  assert.match(stderr, /gw\.api_keys cannot be changed\. Write it out, without an alias\./)
  assert.equal(await readFile(path, 'utf8'), text)
})

test('a gateway that runs on the file takes the key at once', async (t) => {
  const front = await startFront({
    upstreams: [{ name: 'up', endpoint: 'http://127.0.0.1:1' }],
    routes: [{ name: 'chat', strategy: 'single', primary: 'up' }],
  })
  t.after(() => front.process.stop())
  const { stdout } = await create(front.process.configFile, '-o', 'json')
  const headers = { authorization: `Bearer ${JSON.parse(stdout).key}` }
  await until('the key works', async () => {
    const answer = await fetch(`${front.process.url}/v1/models`, { headers })
    return answer.status === 200
  })
})
