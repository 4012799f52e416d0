import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { test } from 'node:test'
import { parse } from 'yaml'
import { futureMoment } from '../../cli/option-values.ts'
import { ApiKey } from '../../dataplane/schema/keys.ts'
import { gw } from '../helpers/gw-here.ts'

const create = (...args: readonly string[]) => gw('keys', 'create', ...args)
const named = ['--tenant', 'acme', '--routes', 'chat,code', '--id', 'team-a'] as const

test('the record holds the hash of the key and never the key', async () => {
  const { code, stdout } = await create(...named, '-o', 'json')
  const { key, record } = JSON.parse(stdout)
  assert.equal(code, 0)
  assert.match(key, /^gw_live_team-a_[0-9A-Za-z]{49}$/)
  assert.deepEqual(record, {
    id: 'team-a',
    tenant: 'acme',
    hash: `sha256:${hash('sha256', key)}`,
    prefix: key.slice(0, 'gw_live_team-a_'.length + 4),
    scopes: ['models:invoke', 'models:list'],
    routes: ['chat', 'code'],
  })
})

test('scopes, environment and expiry are as given', async () => {
  const options = ['--scopes', 'models:list', '--environment', 'test', '--expires', '2999-01-31']
  const { stdout } = await create(...named, ...options, '-o', 'yaml')
  const { key, record } = parse(stdout)
  assert.match(key, /^gw_test_team-a_/)
  assert.deepEqual(record.scopes, ['models:list'])
  assert.equal(record.expires_at, '2999-01-31T00:00:00.000Z')
})

test('tags are as given, of any number up to eight', async () => {
  const { stdout } = await create(
    ...named,
    '--tag',
    'team=blue',
    '--tag',
    'a/b:c=d@e',
    '-o',
    'json',
  )
  assert.deepEqual(JSON.parse(stdout).record.tags, { team: 'blue', 'a/b:c': 'd@e' })
  const tags = [...'abcdefgh'].flatMap((name) => ['--tag', `${name}=x`])
  assert.equal((await create(...named, ...tags)).code, 0)
})

test('the table shows the key once and a snippet to paste', async () => {
  const { stdout } = await create('--tenant', 'acme', '--routes', '*')
  const keys = stdout.match(/gw_live_acme-[0-9a-f]{6}_[0-9A-Za-z]{49}/g) ?? []
  assert.equal(keys.length, 1)
  const [record] = parse(stdout.slice(stdout.indexOf('    - id:')))
  assert.equal(record.hash, `sha256:${hash('sha256', keys[0]!)}`)
  assert.deepEqual(record.routes, ['*'])
  assert.ok(ApiKey.safeParse(record).success)
})

test('two keys of one tenant differ in id and secret', async () => {
  const make = async () =>
    JSON.parse((await create('--tenant', 'a.b', '--routes', 'c', '-o', 'json')).stdout)
  const [one, other] = [await make(), await make()]
  assert.notEqual(one.key, other.key)
  assert.notEqual(one.record.id, other.record.id)
  assert.match(one.record.id, /^a-b-[0-9a-f]{6}$/)
})

const refused = [
  ['no routes', ['--tenant', 'acme'], /--routes <names>' not specified/],
  ['empty routes', ['--tenant', 'acme', '--routes', ','], /at least one name/],
  ['no tenant', ['--routes', 'chat'], /--tenant <name>' not specified/],
  ['a tenant with a space', ['--tenant', 'a b', '--routes', 'c'], /--tenant "a b"/],
  ['a route with a space', ['--tenant', 'a', '--routes', 'c,d e'], /--routes "d e"/],
  ['an unknown scope', [...named, '--scopes', 'models:invoke,all'], /--scopes "all".* models:list/],
  ['a tag without a value', [...named, '--tag', 'team'], /NAME=VALUE/],
  ['a tag of an odd name', [...named, '--tag', '__proto__=x'], /NAME=VALUE/],
  ['a tag with a space', [...named, '--tag', 'a b=x'], /--tag a b=x is .* the name must start/],
  [
    'a tag of an odd value',
    [...named, '--tag', 'team=a=b'],
    /--tag team=a=b is .* 1 to 64 letters/,
  ],
  ['a tag twice', [...named, '--tag', 'team=a', '--tag', 'team=b'], /"team" is given twice/],
  [
    'nine tags',
    [...named, ...[...'abcdefghi'].flatMap((name) => ['--tag', `${name}=x`])],
    /--tag: a key must have at most 8 tags/,
  ],
  ['an id with an underscore', [...named, '--id', 'a_b'], /no underscore/],
  ['an environment with an underscore', [...named, '--environment', 'a_b'], /no underscore/],
  ['an expiry in the past', [...named, '--expires', '2001-01-01'], /passed/],
  ['an expiry that is not a date', [...named, '--expires', 'soon'], /ISO 8601/],
] as const

for (const [what, args, message] of refused) {
  test(`${what}: a usage error, and no key`, async () => {
    const { code, stdout, stderr } = await create(...args)
    assert.equal(code, 64)
    assert.equal(stdout, '')
    assert.match(stderr, message)
  })
}

const now = Date.parse('2026-02-27T12:00:00Z')

const moments = [
  ['90d', '2026-05-28T12:00:00.000Z'],
  ['36h', '2026-03-01T00:00:00.000Z'],
  ['1w', '2026-03-06T12:00:00.000Z'],
  ['1y', '2027-02-27T12:00:00.000Z'],
  ['2026-03-01', '2026-03-01T00:00:00.000Z'],
  ['2026-03-01T10:00:00+02:00', '2026-03-01T08:00:00.000Z'],
] as const

for (const [text, expected] of moments) {
  test(`${text} is ${expected}`, () => {
    assert.equal(futureMoment(text, now).toISOString(), expected)
  })
}

for (const text of ['', '90', 'd', '-1d', '0d', '1.5d', '2026-02-31', '2026-02-27', '03/01/2027']) {
  test(`"${text}" is no moment to come`, () => {
    assert.throws(() => futureMoment(text, now), { code: 'commander.invalidArgument' })
  })
}
