/** `gw apply` asks before it removes keys, routes or budgets; a dry run changes nothing. */
import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { parse, stringify } from 'yaml'
import { aKey } from '../helpers/a-key.ts'
import { refusingUrl, startFront, startUpstream } from '../helpers/fake-upstream.ts'
import { gw } from '../helpers/gw-here.ts'

const folder = await mkdtemp(join(tmpdir(), 'gw-test-'))
const upstream = await startUpstream()
const front = await startFront({
  upstreams: [{ name: 'up', endpoint: upstream.url }],
  api_keys: [aKey({ id: 'one' }).record, aKey({ id: 'two' }).record],
  routes: [
    { name: 'chat', strategy: 'single', primary: 'up' },
    { name: 'second', strategy: 'single', primary: 'up' },
  ],
  budgets: [
    { tenant: 'acme', tokens_per_day: 100 },
    { tenant: 'other', tokens_per_day: 100 },
  ],
})
after(async () => {
  await Promise.all([front.process.stop(), upstream.close()])
  await rm(folder, { recursive: true })
})
const original = await readFile(front.process.configFile, 'utf8')
const admin = ['--admin', front.process.adminUrl]
const hashNow = async () => (await front.admin('/status')).config.hash

type Gw = Record<string, unknown[]> & { budgets: Record<string, unknown>[] }

async function changed(name: string, change: (gw: Gw) => void): Promise<string> {
  const document = parse(original)
  change(document.gw)
  const file = join(folder, name)
  await writeFile(file, stringify(document))
  return file
}

const REMOVALS: readonly (readonly [what: string, path: string, change: (gw: Gw) => void])[] = [
  ['a key', 'gw.api_keys[two]', (gw) => gw.api_keys?.pop()],
  ['a route', 'gw.routes[second]', (gw) => gw.routes?.pop()],
  ['every budget', 'gw.budgets', (gw) => Reflect.deleteProperty(gw, 'budgets')],
  ['a budget', 'gw.budgets[', (gw) => gw.budgets.pop()],
]

for (const [what, path, change] of REMOVALS) {
  test(`off a terminal, apply that removes ${what} ends with 2 and changes nothing, until --yes`, async () => {
    const file = await changed('removal.yaml', change)
    const before = await hashNow()
    const { code, stderr } = await gw('apply', file, ...admin)
    assert.equal(code, 2, stderr)
    assert.ok(stderr.includes('refused: This removes ') && stderr.includes(path), stderr)
    assert.match(stderr, /--yes/)
    assert.equal(await hashNow(), before)
    assert.equal((await gw('apply', file, ...admin, '--yes')).code, 0)
    assert.notEqual(await hashNow(), before)
    assert.equal((await gw('apply', front.process.configFile, ...admin)).code, 0)
  })
}

test('a change that removes nothing of these needs no --yes', async () => {
  const file = await changed('more.yaml', (gw) => {
    gw.budgets[0] = { ...gw.budgets[0], tokens_per_day: 200 }
  })
  assert.equal((await gw('apply', file, ...admin)).code, 0)
  assert.equal((await gw('apply', front.process.configFile, ...admin)).code, 0)
})

test('a dry run of the server shows the change and makes none', async () => {
  const file = await changed('dry.yaml', (gw) => gw.routes?.pop())
  const before = await hashNow()
  const { code, stdout } = await gw('apply', file, ...admin, '--dry-run=server')
  assert.equal(code, 0)
  assert.match(stdout, /gw\.routes\[second\].*would be applied \(dry run of the server\)/s)
  assert.equal(await hashNow(), before)
})

test('a dry run of the client asks no gateway, and refuses what a gateway would', async () => {
  const nowhere = ['--admin', await refusingUrl(), '--dry-run=client']
  const good = await gw('apply', front.process.configFile, ...nowhere)
  assert.deepEqual([good.code, /valid; nothing was sent/.test(good.stdout)], [0, true])
  const file = await changed('bad.yaml', (gw) => gw.routes?.push({ name: 'third' }))
  const bad = await gw('apply', file, ...nowhere)
  assert.deepEqual([bad.code, /nothing was sent/.test(bad.stderr)], [1, true])
})
