/** The memory of idle WebSockets: agents keep them open while their users think. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { aKey } from '../../helpers/a-key.ts'
import { cases } from '../../helpers/cases.ts'
import { refusingUrl, startFront } from '../../helpers/fake-upstream.ts'
import { open } from './raw-client.ts'

const SOCKETS = cases(1000, 5000)
const AT_ONCE = 50
const RSS_MIB_MAX = 250

test(`${SOCKETS} idle connections leave the process below ${RSS_MIB_MAX} MiB`, async () => {
  const mine = aKey()
  const front = await startFront({
    upstreams: [{ name: 'model', endpoint: await refusingUrl() }],
    routes: [{ name: 'chat', strategy: 'single', primary: 'model' }],
    api_keys: [mine.record],
  })
  const { url, pid } = front.process
  const headers = { authorization: `Bearer ${mine.key}` }
  const clients = []
  try {
    for (let made = 0; made < SOCKETS; made += AT_ONCE)
      clients.push(
        ...(await Promise.all(Array.from({ length: AT_ONCE }, () => open({ url, headers })))),
      )
    const status = await readFile(`/proc/${pid}/status`, 'utf8')
    const mib = Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024
    assert.ok(mib <= RSS_MIB_MAX, `${mib} MiB`)
    assert.ok(clients.every(({ isClosed }) => !isClosed))
  } finally {
    for (const { socket } of clients) socket.destroy()
    await front.process.stop()
  }
})
