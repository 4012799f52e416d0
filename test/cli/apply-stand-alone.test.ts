/** `gw apply` and `gw diff` against a running stand-alone gateway. */
import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { parse, stringify } from 'yaml'
import { aKey } from '../helpers/a-key.ts'
import { refusingUrl, startFront, startUpstream } from '../helpers/fake-upstream.ts'
import { gw } from '../helpers/gw-here.ts'
import { until } from '../helpers/until.ts'

const folder = await mkdtemp(join(tmpdir(), 'gw-test-'))
const upstream = await startUpstream()
const front = await startFront({
  upstreams: [{ name: 'up', endpoint: upstream.url, headers: { 'x-team': 'first-literal' } }],
  routes: [{ name: 'chat', strategy: 'single', primary: 'up' }],
  rate_limits: { default: { requests_per_minute: 600, burst: 100, concurrent_requests: 10 } },
})
after(async () => {
  await Promise.all([front.process.stop(), upstream.close()])
  await rm(folder, { recursive: true })
})
const { adminUrl, configFile } = front.process
const original = parse(await readFile(configFile, 'utf8'))
const admin = ['--admin', adminUrl] as const

/** As far as the tests change it. */
interface Section {
  rate_limits?: { default: { burst: number }; backend?: string; redis?: { url: string } }
  api_keys: object[]
  aliases?: Record<string, string>
  routes: { primary: string; timeout_seconds?: number }[]
  upstreams: { headers: Record<string, string> }[]
}

const [routeOf, upstreamOf, limitsOf] = [
  ({ routes: [first] }: Section) => first ?? assert.fail('no route'),
  ({ upstreams: [first] }: Section) => first ?? assert.fail('no upstream'),
  ({ rate_limits }: Section) => rate_limits ?? assert.fail('no limits'),
]

/** The running configuration with changes, in another file. */
async function edited(change: (section: Section) => void): Promise<string> {
  const document = structuredClone(original)
  change(document.gw)
  const file = join(folder, 'edited.yaml')
  await writeFile(file, stringify(document))
  return file
}

const hashNow = async () => (await front.admin('/status')).config.hash
const burstNow = async () => (await front.admin('/limits/acme')).requests_per_minute.burst

test('apply --reload changes limits and keys, and reports how long the change lasts', async () => {
  const { record } = aKey({ id: 'second' })
  const file = await edited((section) => {
    limitsOf(section).default.burst = 77
    section.api_keys.push(record)
  })
  const { code, stdout, stderr } = await gw('apply', '-f', file, '--reload', ...admin)
  assert.equal(code, 0, stderr)
  assert.match(stdout, /^~ gw\.rate_limits\.default\.burst: 100 -> 77$/m)
  assert.match(stdout, /^\+ gw\.api_keys\[second\]: \{/m)
  assert.match(
    stderr,
    /This lasts until the next start: the gateway was started with .*config\.yaml, and the next save of that file replaces what was applied\./,
  )
  assert.equal(await burstNow(), 77)
  const again = await gw('apply', '-f', file, '--reload', ...admin)
  assert.deepEqual([again.code, again.stdout], [0, `${file}: nothing differs\n`])
})

test('apply --reload of the file of the start lasts', async () => {
  const { code, stdout } = await gw(
    ...['apply', '-f', configFile, '--reload', '--yes', ...admin, '-o', 'json'],
  )
  assert.equal(code, 0)
  const { lasts, differences } = JSON.parse(stdout)
  assert.equal(lasts, 'for good')
  assert.equal(differences.length, 2, 'back to what was before')
})

test('apply --reload refuses everything else, by its exact path, and changes nothing', async () => {
  const before = await hashNow()
  const file = await edited((section) => {
    const limits = limitsOf(section)
    limits.default.burst = 55
    limits.backend = 'redis'
    limits.redis = { url: 'redis://user:hidden-password@127.0.0.1:1' }
    routeOf(section).timeout_seconds = 7
    upstreamOf(section).headers['x-team'] = 'second-literal'
    section.aliases = { 'gpt-4o': 'chat' }
  })
  const { code, stdout, stderr } = await gw('apply', '-f', file, '--reload', ...admin)
  assert.equal(code, 1)
  for (const path of [
    'gw.rate_limits.backend: "memory" -> "redis"',
    'gw.rate_limits.redis.url',
    'gw.routes[chat].timeout_seconds: 7',
    'gw.upstreams[up].headers.x-team: "***" (differs, and is secret)',
    'gw.aliases.gpt-4o: "chat"',
  ]) {
    assert.ok(stderr.includes(path), `${path} in ${stderr}`)
  }
  assert.doesNotMatch(stderr, /burst/)
  assert.doesNotMatch(stdout + stderr, /literal|hidden-password/)
  assert.equal(await hashNow(), before)
})

test('apply without --reload takes everything', async () => {
  const file = await edited((section) => {
    section.aliases = { 'gpt-4o': 'chat' }
  })
  const { code, stdout, stderr } = await gw('apply', '-f', file, '--yes', ...admin)
  assert.equal(code, 0)
  assert.match(stdout, /^\+ gw\.aliases\.gpt-4o: "chat"$/m)
  assert.equal((await front.chat({ model: 'gpt-4o' })).status, 200)
  assert.match(
    stderr,
    /until the next start: .*config\.yaml, and the next save of that file replaces/,
  )
  const rolling = ['--strategy', 'rolling', '--drain-timeout', '60s']
  const back = await gw('apply', '-f', configFile, '--yes', ...rolling, ...admin)
  assert.equal(back.code, 0, back.stderr)
  assert.match(back.stderr, /this gateway goes on, and drains nothing/)
  assert.match(back.stderr, /This lasts: .*config\.yaml, and reloads it after each later edit/)
})

test('as the command warns, the next save of the start file replaces the applied document', async () => {
  const file = await edited((section) => {
    limitsOf(section).default.burst = 88
  })
  assert.equal((await gw('apply', '-f', file, '--reload', '--yes', ...admin)).code, 0)
  assert.equal(await burstNow(), 88)
  await writeFile(configFile, `${stringify(original)}# saved\n`)
  await until('the file counts again', async () => (await burstNow()) === 100)
})

test('a file with mistakes is refused by line', async () => {
  const before = await hashNow()
  const file = await edited((section) => {
    routeOf(section).primary = 'ghost'
  })
  for (const command of [['apply'], ['apply', '--reload'], ['diff']]) {
    const { code, stderr } = await gw(...command, '-f', file, ...admin)
    assert.equal(code, 1)
    assert.match(stderr, new RegExp(`^${file}:\\d+:\\d+: error: .*ghost`, 'm'))
  }
  assert.equal(await hashNow(), before)
})

test('diff shows what would change, ends with 1, and changes nothing', async () => {
  const before = await hashNow()
  const file = await edited((section) => {
    routeOf(section).timeout_seconds = 7
    upstreamOf(section).headers['x-team'] = 'second-literal'
    delete section.rate_limits
  })
  const { code, stdout } = await gw('diff', '-f', file, ...admin)
  assert.equal(code, 1)
  assert.match(stdout, /^\+ gw\.routes\[chat\]\.timeout_seconds: 7$/m)
  assert.match(stdout, /^~ gw\.rate_limits\.default\.burst: 100 -> 30$/m)
  assert.doesNotMatch(stdout, /literal/)
  const json = await gw('diff', '-f', file, ...admin, '-o', 'json')
  assert.equal(json.code, 1)
  assert.equal(JSON.parse(json.stdout).differences.length, stdout.trim().split('\n').length)
  assert.equal(await hashNow(), before)
  const same = await gw('diff', '-f', configFile, ...admin)
  assert.deepEqual([same.code, same.stdout], [0, `${configFile}: nothing differs\n`])
})

test('what cannot be read or asked is 2, and asking two at once is 64', async () => {
  const missing = await gw('apply', '-f', join(folder, 'none.yaml'), ...admin)
  assert.equal(missing.code, 2)
  assert.match(missing.stderr, /cannot read .*none\.yaml/)
  const unanswered = await gw('diff', '-f', configFile, '--admin', await refusingUrl())
  assert.equal(unanswered.code, 2)
  const both = await gw('apply', '-f', configFile, ...admin, '-n', 'ai')
  assert.equal(both.code, 64)
  assert.match(both.stderr, /--admin is of a stand-alone gateway and --namespace of a cluster/)
})
