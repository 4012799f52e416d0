/** A configuration behind symbolic links: a change is noticed at any step of the way to the file. */
import assert from 'node:assert/strict'
import { mkdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { after, test } from 'node:test'
import { parse, stringify } from 'yaml'
import { aKey } from '../helpers/a-key.ts'
import { startFront, startUpstream } from '../helpers/fake-upstream.ts'
import { until } from '../helpers/until.ts'

const upstream = await startUpstream()
const front = await startFront({
  upstreams: [{ name: 'up', endpoint: upstream.url }],
  routes: [{ name: 'chat', strategy: 'single', primary: 'up' }],
})
after(() => Promise.all([front.process.stop(), upstream.close()]))
const { configFile } = front.process
const document = parse(await readFile(configFile, 'utf8'))
const folder = dirname(configFile)

const withRoute = (name: string, more = {}) =>
  stringify({
    ...document,
    gw: { ...document.gw, routes: [{ name, strategy: 'single', primary: 'up' }], ...more },
  })

/** Replaces what stands there, as ln -sfn does. */
async function link(path: string, target: string): Promise<void> {
  await symlink(target, `${path}.new`)
  await rename(`${path}.new`, path)
}

async function serves(model: string): Promise<void> {
  await until(`${model} is served`, async () => (await front.chat({ model })).status === 200, 20)
}

/** A folder beside the configuration with one file. */
async function folderWith(name: string, file: string, text: string): Promise<string> {
  await mkdir(join(folder, name), { recursive: true })
  await writeFile(join(folder, name, file), text)
  return join(folder, name, file)
}

test('the file that a link names is edited, also after the link has moved to another folder', async () => {
  const first = await folderWith('first', 'a.yaml', withRoute('first'))
  const second = await folderWith('second', 'b.yaml', withRoute('second'))
  await link(configFile, first)
  await serves('first')
  await writeFile(first, withRoute('first-edited'))
  await serves('first-edited')
  await link(configFile, second)
  await serves('second')
  await writeFile(second, withRoute('second-edited'))
  await serves('second-edited')
})

test('a folder on the way is a link that moves again and again, and old folders go', async () => {
  for (const revision of ['one', 'two', 'three'])
    await folderWith(`revisions/${revision}/sub`, 'config.yaml', withRoute(revision))
  const current = join(folder, 'revisions', 'current')
  await link(current, 'one')
  await link(configFile, 'revisions/current/sub/config.yaml')
  await serves('one')
  await link(current, 'two')
  await rm(join(folder, 'revisions', 'one'), { recursive: true })
  await serves('two')
  await link(current, 'three')
  await serves('three')
})

test('a file of keys behind a link is edited', async () => {
  const keys = await folderWith('keys', 'keys.json', '[]')
  const file = join(folder, 'keys.json')
  await link(file, keys)
  await rm(configFile)
  await writeFile(configFile, withRoute('keyed', { api_keys_file: file }))
  await serves('keyed')
  const { key, record } = aKey({ id: 'later' })
  await writeFile(keys, JSON.stringify([record]))
  const asking = { authorization: `Bearer ${key}` }
  await until(
    'the new key is accepted',
    async () => (await front.ask({ model: 'keyed' }, asking).over).status === 200,
    20,
  )
  assert.equal(front.logged('config_watch').length, 0)
})
