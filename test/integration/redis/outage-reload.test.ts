/** A reload applies `fail_open` and `timeout_ms`, also during an outage; other settings of Redis wait for a restart. */
import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { after, test } from 'node:test'
import { parse, stringify } from 'yaml'
import { startUpstream } from '../../helpers/fake-upstream.ts'
import { startRedis } from '../../helpers/redis-server.ts'
import { until } from '../../helpers/until.ts'
import { keysOf } from '../limits/limited-gateway.ts'
import { startShared, untilStore } from './shared-gateways.ts'

const [server, upstream] = await Promise.all([startRedis(), startUpstream()])
const keys = keysOf(['acme'])
const gateway = await startShared({
  url: `unix://${server.socket}`,
  failOpen: false,
  upstream,
  keys,
})
after(async () => {
  await gateway.stop()
  await Promise.all([server.stop(), upstream.close()])
})
const front = gateway.as('acme')

/** Resolves once the gateway serves with the new settings. */
async function reload(settings: Readonly<Record<string, unknown>>): Promise<void> {
  const { configFile } = front.process
  const document = parse(await readFile(configFile, 'utf8'))
  Object.assign(document.gw.rate_limits.redis, settings)
  await writeFile(configFile, stringify(document))
  await until('it reloads', async () => (await failsOpen()) === settings.fail_open)
}

async function failsOpen(): Promise<unknown> {
  return (await front.admin('/status')).store.fail_open
}

/** Lines of the log about settings that wait for a restart. */
function warnings(): unknown[] {
  const lines = front.logged('config_reload').filter(({ level }) => level === 'warn')
  return [...new Set(lines.map(({ message }) => message))]
}

test('during an outage a reload opens and closes the gateway', async () => {
  await untilStore(front, 'up')
  server.signal('SIGSTOP')
  await until('requests are refused', async () => (await front.chat()).status === 503)
  await untilStore(front, 'away')
  await reload({ fail_open: true, timeout_ms: 300 })
  assert.equal((await front.chat()).status, 200)
  await reload({ fail_open: false })
  assert.equal((await front.chat()).status, 503)
  server.signal('SIGCONT')
  await untilStore(front, 'up')
  assert.equal((await front.chat()).status, 200)
})

test('another prefix of the keys waits for a restart', async () => {
  assert.deepEqual(warnings(), [])
  await reload({ key_prefix: 'other', fail_open: true })
  await until('it warns', () => warnings().length > 0)
  const field = 'gw.rate_limits.backend, .redis or state_dir'
  assert.deepEqual(warnings(), [`${field} takes effect at the next start.`])
})
