/** A missing folder, or a lack of file descriptors, ends no gateway that reads its configuration again. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { after, test } from 'node:test'
import { parse, stringify } from 'yaml'
import { startFront, startUpstream } from '../helpers/fake-upstream.ts'
import { until } from '../helpers/until.ts'

const upstream = await startUpstream()
const front = await startFront({
  upstreams: [{ name: 'up', endpoint: upstream.url }],
  routes: [{ name: 'chat', strategy: 'single', primary: 'up' }],
})
after(() => Promise.all([front.process.stop(), upstream.close()]))
const { configFile } = front.process
const folder = join(dirname(configFile), 'beside')

test('a folder of the configuration is removed, and the gateway reads its configuration again', async () => {
  const document = parse(await readFile(configFile, 'utf8'))
  await mkdir(folder)
  await writeFile(join(folder, 'token'), 'upstream-credential')
  const [up] = document.gw.upstreams
  const gw = { ...document.gw, upstreams: [{ ...up, api_key: `\${file:${folder}/token}` }] }
  await writeFile(configFile, stringify({ ...document, gw }))
  const reloaded = (result: string) => front.value(`gw_config_reload_total{result="${result}"}`)
  await until('the file is in force', async () => (await reloaded('success')) > 0)
  await rename(folder, `${folder}-gone`)
  front.process.signal('SIGHUP')
  await until('it was read again', async () => (await reloaded('failure')) > 0)
  assert.equal((await front.chat()).status, 200)
  await until('it warns', () => front.logged('config_watch').length > 0)
  const [{ message } = {}] = front.logged('config_watch')
  assert.match(String(message), /beside is not watched; after a change there, send SIGHUP: ENOENT/)
  await rename(`${folder}-gone`, folder)
  const before = await reloaded('success')
  front.process.signal('SIGHUP')
  await until('it is read a third time', async () => (await reloaded('success')) > before)
  assert.equal((await front.chat()).status, 200)
})

test('a gateway without a free file descriptor keeps its configuration, and reads it again later', async () => {
  const { pid } = front.process
  const limit = (most: number) => execFileSync('prlimit', [`--pid=${pid}`, `--nofile=${most}:`])
  const failures = () => logged('failure')
  const successes = () => logged('success')
  const [failed, succeeded] = [failures(), successes()]
  limit(3)
  front.process.signal('SIGHUP')
  await until('it could not be read', () => failures() > failed || front.logged('crash').length > 0)
  limit(4096)
  assert.deepEqual(front.logged('crash'), [])
  front.process.signal('SIGHUP')
  await until('it is read again', () => successes() > succeeded)
  assert.equal((await front.chat()).status, 200)
})

function logged(result: string): number {
  return front.logged('config_reload').filter((line) => line.result === result).length
}
