/** `gw upstream drain`: no new requests, running ones end, and the upstream comes back by itself. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { event, type Reply, startFront, startUpstream } from '../helpers/fake-upstream.ts'
import { gw } from '../helpers/gw-here.ts'
import { until } from '../helpers/until.ts'

let release: (() => void) | undefined

/** A stream goes on until the test lets it end. */
const reply: Reply = async (outgoing, { body }) => {
  const choice = (delta: object, finish: string | null) =>
    event({ choices: [{ index: 0, delta, finish_reason: finish }] })
  if (body.stream !== true) {
    const message = { role: 'assistant', content: 'hello' }
    outgoing.end(JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'stop' }] }))
    return
  }
  outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
  outgoing.write(choice({ content: 'begun' }, null))
  await new Promise<void>((resolve) => {
    release = resolve
  })
  outgoing.end(`${choice({ content: ' and ended' }, 'stop')}data: [DONE]\n\n`)
}
const upstreams = await Promise.all([startUpstream(reply), startUpstream(reply)])
const [first, second] = upstreams
const front = await startFront({
  upstreams: [
    { name: 'first', endpoint: first.url },
    { name: 'second', endpoint: second.url },
  ],
  routes: [
    { name: 'chat', strategy: 'round_robin', upstreams: ['first', 'second'] },
    { name: 'alone', strategy: 'single', primary: 'first' },
  ],
})
after(() => Promise.all([front.process.stop(), ...upstreams.map((one) => one.close())]))
const file = ['-f', front.process.configFile]
const reloads = () => front.logged('config_reload').length

async function servedBy(count: number): Promise<Set<string>> {
  const names = new Set<string>()
  for (let turn = 0; turn < count; turn++) {
    const { status, headers } = await front.chat()
    assert.equal(status, 200)
    names.add(String(headers['x-gw-upstream']))
  }
  return names
}

test('a drained upstream ends its streams and gets no new request until its time is over', async () => {
  const asked = front.ask({ model: 'alone', stream: true })
  await until('the stream has begun', () => release !== undefined)
  const { code, stdout } = await gw('upstream', 'drain', 'first', '--for', '6s', ...file)
  assert.deepEqual([code, /^first gets no new requests until 20/.test(stdout)], [0, true])
  await until('the gateway has read the file', () => reloads() === 1)
  assert.deepEqual(await servedBy(6), new Set(['second']))
  const alone = await front.chat({ model: 'alone' })
  assert.equal(alone.status, 503)
  const status = await gw('status', '--admin', front.process.adminUrl)
  assert.match(status.stdout, /first .* it is drained until 20/)
  release?.()
  assert.match((await asked.over).text, /begun[\s\S]* and ended/)
  await until('it is back', async () => (await servedBy(2)).has('first'))
})

test('gw upstream resume ends a drain at once', async () => {
  await gw('upstream', 'drain', 'second', '--for', '1h', ...file)
  await until('the gateway has read the file', () => reloads() === 2)
  assert.deepEqual(await servedBy(4), new Set(['first']))
  const { code, stdout } = await gw('upstream', 'resume', 'second', ...file)
  assert.deepEqual([code, stdout], [0, 'second gets requests again\n'])
  await until('it is back', async () => (await servedBy(2)).has('second'))
})

test('an unknown upstream, and a gateway without its file, are said', async () => {
  const unknown = await gw('upstream', 'drain', 'third', ...file)
  assert.equal(unknown.code, 1)
  assert.match(unknown.stderr, /There is no upstream "third" in .*; it has first, second\./)
  const bare = await gw('upstream', 'drain', 'first', '--admin', front.process.adminUrl)
  assert.match(bare.stderr, /give the file with --file, or a cluster/)
})
