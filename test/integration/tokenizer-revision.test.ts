/** An upstream whose tokenizer is pinned to a revision gets requests only while its runtime serves that revision. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { errorOf, startFront, startUpstream, whole } from '../helpers/fake-upstream.ts'
import { gw } from '../helpers/gw-here.ts'
import { until } from '../helpers/until.ts'

let served = 'aaaaaaaaaaaa'
const reply = whole('x')
const runtime = createServer(async (incoming, outgoing: ServerResponse) => {
  if (incoming.method === 'POST') {
    await Array.fromAsync(incoming)
    return void reply(outgoing, { path: '', headers: {}, body: {}, text: '' })
  }
  outgoing.end(JSON.stringify(incoming.url === '/info' ? { model_sha: served } : {}))
}).listen(0, '127.0.0.1')
await once(runtime, 'listening')
const endpoint = `http://127.0.0.1:${(runtime.address() as AddressInfo).port}`
const other = await startUpstream()
const tgi = { provider: 'tgi', endpoint }
const front = await startFront({
  upstreams: [
    { name: 'right', ...tgi, tokenizer_revision: served.slice(0, 7) },
    { name: 'wrong', ...tgi, tokenizer_revision: 'bbbbbbbbbbbb' },
    { name: 'detected', ...tgi, tokenizer_autodetect: true },
    { name: 'other', endpoint: other.url },
  ],
  routes: [
    ...['right', 'wrong', 'detected'].map((name) => ({ name, strategy: 'single', primary: name })),
    {
      name: 'spilling',
      strategy: 'primary_with_fallback',
      primary: 'wrong',
      fallback: ['other'],
      overflow: { on_timeout: 'fallback' },
    },
  ],
})
after(async () => {
  await front.process.stop()
  runtime.close()
  runtime.closeAllConnections()
  await other.close()
})
const { adminUrl } = front.process
const mismatch = (name: string) => front.value(`gw_tokenizer_mismatch{upstream="${name}"}`)

test('requests to an upstream with another revision are refused if there is no other candidate', async () => {
  await until('the revision is known', async () => (await mismatch('wrong')) === 1)
  const refused = await front.chat({ model: 'wrong' })
  assert.equal(refused.status, 500)
  assert.equal(errorOf(refused).code, 'ERR_GW_TOKENIZER_MISMATCH')
  assert.match(errorOf(refused).message, /"wrong"/)
  assert.doesNotMatch(errorOf(refused).message, /aaaa|bbbb|127\.0/)
  assert.equal((await front.chat({ model: 'right' })).status, 200)
  assert.equal(await mismatch('right'), 0)
})

test('the log names the code of a revision that does not match', async () => {
  const { process } = front
  const events = () =>
    process
      .output()
      .split('\n')
      .filter((line) => line.includes('"event":"tokenizer"'))
      .map((line) => JSON.parse(line))
  await until('both are logged', () => events().length >= 2)
  const codes = Object.fromEntries(events().map(({ upstream, code }) => [upstream, code]))
  assert.equal(codes.wrong, 'ERR_GW_TOKENIZER_MISMATCH')
  assert.equal(codes.right, undefined)
})

test('with another candidate the upstream is skipped', async () => {
  const answered = await front.chat({ model: 'spilling' })
  assert.equal(answered.status, 200)
  assert.equal(answered.headers['x-gw-upstream'], 'other')
})

test('status, explain and the upstream test name both revisions', async () => {
  const status = await gw('status', '--admin', adminUrl)
  assert.match(status.stdout, /wrong: mismatch, it serves revision aaaaaaaaaaaa, pinned is bbbb/)
  assert.match(status.stdout, /detected: serves revision aaaaaaaaaaaa/)
  const explained = await gw('explain', '--admin', adminUrl, '--route', 'wrong')
  assert.equal(explained.code, 1)
  assert.match(explained.stdout, /ERR_GW_TOKENIZER_MISMATCH/)
  const tested = await gw('upstream', 'test', '--admin', adminUrl, '--name', 'wrong')
  assert.equal(tested.code, 1)
  assert.match(
    tested.stdout,
    /revision: tokenizer_mismatch: It serves revision aaaaaaaaaaaa, and tokenizer_revision is bbbb/,
  )
})

test('the upstream gets requests again once it serves the pinned revision', async () => {
  served = 'bbbbbbbbbbbb'
  await until('the change is seen', async () => (await mismatch('wrong')) === 0)
  assert.equal((await front.chat({ model: 'wrong' })).status, 200)
})
