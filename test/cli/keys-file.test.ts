/** `gw keys` on a file: its output, its edits, and that the rest of the file stays. */
import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { parse, stringify } from 'yaml'
import { aKey } from '../helpers/a-key.ts'
import { gw } from '../helpers/gw-here.ts'

const folder = await mkdtemp(join(tmpdir(), 'gw-test-'))
after(() => rm(folder, { recursive: true }))

const first = aKey({ id: 'first', prefix: 'gw_live_first_abcd', routes: ['chat'] })
const gone = aKey({ id: 'gone', prefix: 'gw_live_gone_efgh', tenant: 'other' })
const revokedAt = '2026-01-02T03:04:05Z'

async function keysFile(): Promise<string> {
  const path = join(folder, 'keys.yaml')
  const lines = [
    '# Keys of the team; ask Ada before you change one.',
    `- id: first\n  tenant: acme\n  hash: ${first.record.hash}`,
    '  prefix: gw_live_first_abcd # printed on the card\n  routes: [chat]\n  tags: {team: blue, feature: a}',
    `- id: gone\n  tenant: other\n  hash: ${gone.record.hash}\n  prefix: gw_live_gone_efgh`,
    `  routes: ['*']\n  revoked_at: ${revokedAt}\n  reason: leaked`,
  ]
  await writeFile(path, `${lines.join('\n')}\n`, { mode: 0o640 })
  return path
}

test('list shows every key, and neither key nor hash', async () => {
  const { code, stdout } = await gw('keys', 'list', '--file', await keysFile())
  assert.equal(code, 0)
  assert.match(
    stdout,
    /^first +acme +ACTIVE +gw_live_first_abcd +models:invoke,models:list +chat +team=blue,feature=a/m,
  )
  assert.match(stdout, /^gone +other +REVOKED/m)
  assert.doesNotMatch(stdout, /sha256|[0-9a-f]{64}/)
  const one = await gw('keys', 'list', '-f', await keysFile(), '--tenant', 'other', '-o', 'json')
  const { keys } = JSON.parse(one.stdout)
  assert.deepEqual([keys.length, keys[0].id], [1, 'gone'])
})

test('inspect finds a key by any part of it, and shows when and why it was revoked', async () => {
  const file = await keysFile()
  for (const prefix of ['gw_live_gone', 'gw_live_gone_efgh', 'gw_live_gone_efghijklmnop']) {
    const { code, stdout } = await gw(
      'keys',
      'inspect',
      '--prefix',
      prefix,
      '-f',
      file,
      '-o',
      'json',
    )
    assert.equal(code, 0)
    assert.deepEqual(JSON.parse(stdout), {
      id: 'gone',
      tenant: 'other',
      status: 'REVOKED',
      prefix: 'gw_live_gone_efgh',
      scopes: ['models:invoke', 'models:list'],
      routes: ['*'],
      revoked_at: revokedAt,
      reason: 'leaked',
    })
  }
  const text = await gw('keys', 'inspect', '--prefix', 'gw_live_gone', '-f', file)
  assert.match(text.stdout, /^revoked +\d+ [dy].* ago \(2026-01-02T03:04:05Z\)\nreason +leaked$/m)
  const none = await gw('keys', 'inspect', '--prefix', 'gw_live_x', '-f', file)
  assert.equal(none.code, 1)
})

const questions = [
  [['--id', 'first', '--scope', 'models:invoke', '--route', 'chat'], 0, /200/],
  [['--id', 'first', '--scope', 'models:list'], 0, /200/],
  [['--id', 'first', '--route', 'code'], 1, /403, it may not use route "code"/],
  [['--id', 'gone', '--route', 'chat'], 1, /401, key gone is REVOKED/],
  [['--id', 'ghost'], 1, /401, no key has the id "ghost"/],
] as const

for (const [args, expected, said] of questions) {
  test(`test ${args.join(' ')} ends with ${expected}`, async () => {
    const { code, stdout } = await gw('keys', 'test', ...args, '-f', await keysFile())
    assert.equal(code, expected)
    assert.match(stdout, said)
  })
}

test('revoke sets when and why, once, and leaves the rest of the file as it is', async () => {
  const file = await keysFile()
  const before = await readFile(file, 'utf8')
  const revoke = () => gw('keys', 'revoke', '--id', 'first', '--reason', 'lost', '-f', file)
  assert.equal((await revoke()).code, 0)
  const after = await readFile(file, 'utf8')
  const [record, other] = parse(after)
  assert.equal(record.reason, 'lost')
  assert.ok(Math.abs(Date.parse(record.revoked_at) - Date.now()) < 60_000)
  assert.equal(other.revoked_at, revokedAt)
  for (const line of before.trimEnd().split('\n')) assert.ok(after.includes(line), line)
  assert.equal((await stat(file)).mode & 0o777, 0o640)
  const again = await revoke()
  assert.match(again.stdout, new RegExp(record.revoked_at))
  assert.equal(await readFile(file, 'utf8'), after)
})

test('rotate makes a key with the same rights, and ends the old one', async () => {
  const file = await keysFile()
  const { code, stdout } = await gw('keys', 'rotate', '--id', 'first', '-f', file, '-o', 'json')
  assert.equal(code, 0)
  const { key, record } = JSON.parse(stdout)
  assert.match(key, /^gw_live_first-r2_/)
  assert.deepEqual([record.tenant, record.routes], ['acme', ['chat']])
  const [old, , fresh] = parse(await readFile(file, 'utf8'))
  assert.equal(old.rotated_to, 'first-r2')
  assert.deepEqual(fresh, record)
  assert.ok(!(await readFile(file, 'utf8')).includes(key))
  const gone = await gw('keys', 'rotate', '--id', 'gone', '-f', file)
  assert.equal(gone.code, 1)
  assert.match(gone.stderr, /Key "gone" is REVOKED/)
})

test('inspect shows tags, and a rotated key keeps them', async () => {
  const file = await keysFile()
  const { stdout } = await gw('keys', 'inspect', '--prefix', 'gw_live_first', '-f', file)
  assert.match(stdout, /^tags +team=blue, feature=a$/m)
  assert.equal((await gw('keys', 'rotate', '--id', 'first', '-f', file)).code, 0)
  const [, , fresh] = parse(await readFile(file, 'utf8'))
  assert.deepEqual(fresh.tags, { team: 'blue', feature: 'a' })
})

test('with a grace the old key expires later', async () => {
  const file = await keysFile()
  const args = ['--id', 'first', '--new-id', 'fresh', '--grace', '24h', '-f', file]
  assert.equal((await gw('keys', 'rotate', ...args)).code, 0)
  const [old] = parse(await readFile(file, 'utf8'))
  assert.equal(old.rotated_to, undefined)
  const left = Date.parse(old.expires_at) - Date.now()
  assert.ok(left > 86_000_000 && left <= 86_400_000, `${left} ms`)
})

test('commands find and change the keys of a whole configuration, and resolve aliases to their route', async () => {
  const file = join(folder, 'config.yaml')
  const text = `# ours
apiVersion: inference.gw/v1
kind: GatewayConfig
gw:
  routes: [{ name: chat }, { name: code }]
  aliases: { gpt-4o: chat, old: { route: chat, deprecated: { since: 2026-01-01 } }, o*: code }
  api_keys:
    - { id: first, tenant: acme, hash: "${first.record.hash}", routes: [chat] }
`
  await writeFile(file, text)
  const answers = [
    ['gpt-4o', 0, /200/],
    ['old', 0, /200/],
    ['code', 1, /403, it may not use route "code"/],
    ['o3', 1, /403, it may not use route "code"/],
    ['ghost', 1, /404, there is no route or alias "ghost"/],
  ] as const
  for (const [route, code, said] of answers) {
    const asked = await gw('keys', 'test', '--id', 'first', '--route', route, '-f', file)
    assert.match(asked.stdout, said)
    assert.equal(asked.code, code)
  }
  assert.equal((await gw('keys', 'revoke', '--id', 'first', '-f', file)).code, 0)
  const changed = await readFile(file, 'utf8')
  assert.match(changed, /^# ours\n/)
  assert.ok(parse(changed).gw.api_keys[0].revoked_at)
})

test('a record that no gateway would take is named, and the others are listed', async () => {
  const file = join(folder, 'mixed.yaml')
  const [sound] = parse(await readFile(await keysFile(), 'utf8'))
  await writeFile(file, stringify([{ ...sound, id: 'bad', hash: 'x' }, sound]))
  const { code, stdout, stderr } = await gw('keys', 'list', '-f', file)
  assert.equal(code, 0)
  assert.match(stdout, /^first /m)
  assert.match(stderr, /^warning: record 1 \("bad"\) of .*mixed\.yaml is not valid/)
  const missing = await gw('keys', 'list', '-f', join(folder, 'none.yaml'))
  assert.equal(missing.code, 2)
  assert.match(missing.stderr, /^error: cannot read .*none\.yaml/)
})

test('a file without keys, and a key that is not in it, are said to be so', async () => {
  const file = join(folder, 'other.yaml')
  await writeFile(file, 'a: 1\n')
  const none = await gw('keys', 'list', '-f', file)
  assert.equal(none.code, 2)
  assert.match(none.stderr, /has no keys/)
  const unknown = await gw('keys', 'revoke', '--id', 'ghost', '-f', await keysFile())
  assert.equal(unknown.code, 1)
  assert.match(unknown.stderr, /There is no key "ghost"/)
})
