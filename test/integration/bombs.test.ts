/** Answers designed to exhaust the reader: each ends as a failure, with bounded memory. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, test } from 'node:test'
import { BOMBS, longLine, MIB } from './bombs.ts'
import { toldCompressed, WHOLE } from './compressed-answers.ts'
import { startEgressGateway } from './egress-gateway.ts'
import { type Reply, replyWell, startTcpServer } from './raw-server.ts'

/**
 * It peaks at 300 MiB if the collector keeps up; the withheld parts of these answers would be
 * gigabytes.
 */
const RESIDENT_MIB_MAX = 900

const elsewhere = await startTcpServer(replyWell)
const redirects: Reply = (socket) =>
  socket.write(
    `HTTP/1.1 307 Elsewhere\r\nlocation: http://127.0.0.1:${elsewhere.port}/\r\ncontent-length: 0\r\n\r\n`,
  )

const replies: Record<string, Reply> = {
  ...Object.fromEntries(Object.entries(BOMBS).map(([name, { reply }]) => [name, reply])),
  ...WHOLE,
  long_line: longLine,
  told_compressed: toldCompressed,
  redirects,
}
/** Short if only a timer ends the answer; otherwise too long for a slow machine to reach. */
function clocksOf(name: string) {
  const seconds = BOMBS[name]?.outcome === 'timeout' ? 2 : 60
  return {
    timeout_seconds: seconds,
    connect_timeout_seconds: seconds,
    idle_timeout_seconds: seconds,
  }
}
const servers = Object.fromEntries(
  await Promise.all(
    Object.entries(replies).map(
      async ([name, reply]) => [name, await startTcpServer(reply)] as const,
    ),
  ),
)
const gateway = await startEgressGateway({
  upstreams: Object.fromEntries(
    Object.entries(servers).map(([name, { port }]) => [
      name,
      { endpoint: `http://127.0.0.1:${port}`, ...clocksOf(name) },
    ]),
  ),
})
after(async () => {
  await gateway.stop()
  await Promise.all([elsewhere, ...Object.values(servers)].map((server) => server.close()))
})

for (const [name, bomb] of Object.entries(BOMBS)) {
  test(`${name} ends as a failure, within bounded memory`, async () => {
    const answer = await gateway.ask(name, { stream: bomb.stream ?? false })
    assert.match(`${answer.message} ${await gateway.lastReason()}`, bomb.message)
    assert.doesNotMatch(answer.message, /UND_ERR|HPE_/)
    assert.match(answer.code ?? '', /^ERR_GW_(UPSTREAM_ERROR|PROXY_TIMEOUT)$/)
    assert.equal(await gateway.lastOutcome(), bomb.outcome ?? 'malformed')
    assert.ok(residentMib() < RESIDENT_MIB_MAX, `${residentMib()} MiB`)
  })
}

for (const name of Object.keys(WHOLE)) {
  test(`an answer in ${name} is read although identity was requested`, async () => {
    const answer = await gateway.ask(name)
    assert.equal(JSON.parse(answer.text).choices[0].message.content, 'hello')
  })
}

test('the reason of a failure is read from a compressed body', async () => {
  const answer = await gateway.ask('told_compressed')
  assert.equal(answer.status, 400)
  assert.match(answer.message, /the reason/)
})

test('an event of 10 MiB passes in pieces', async () => {
  const answer = await gateway.ask('long_line', { stream: true })
  assert.ok(answer.text.length > 10 * MIB)
  assert.ok(answer.text.endsWith('data: [DONE]\n\n'))
  assert.ok(residentMib() < RESIDENT_MIB_MAX, `${residentMib()} MiB`)
})

test('a redirect is not followed', async () => {
  const answer = await gateway.ask('redirects')
  assert.equal(answer.status, 502)
  assert.equal(answer.code, 'ERR_GW_UPSTREAM_ERROR')
  assert.equal(await gateway.lastOutcome(), 'malformed')
  assert.equal(elsewhere.connections(), 0)
})

/** The gateway's peak memory. */
function residentMib(): number {
  const status = readFileSync(`/proc/${gateway.pid}/status`, 'utf8')
  return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) / 1024
}
