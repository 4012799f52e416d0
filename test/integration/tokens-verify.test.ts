/** `gw tokens verify` compares the gateway's prompt counts with those of an upstream. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { startFront, startUpstream, whole } from '../helpers/fake-upstream.ts'
import { gw } from '../helpers/gw-here.ts'
import { startModelServer } from '../helpers/model/model-server.ts'

/**
 * Counts as OpenAI documents for its models: three tokens around a message, three before the
 * answer, one for the role.
 */
const reporting = await startUpstream((outgoing, { body }) => {
  const [message] = body.messages as { content: string }[]
  const prompt_tokens = countTokens(message?.content ?? '') + 3 + 3 + 1
  const usage = { prompt_tokens, completion_tokens: 1, total_tokens: prompt_tokens + 1 }
  return whole('x', usage)(outgoing, { path: '', headers: {}, body, text: '' })
})
const silent = await startUpstream(whole('x', null))
/** A tokenizer that counts two tokens for each character. */
const doubling = createServer(async (incoming, outgoing) => {
  if (incoming.method === 'GET') return void outgoing.end()
  const { messages } = JSON.parse(Buffer.concat(await Array.fromAsync(incoming)).toString())
  outgoing.end(JSON.stringify({ count: 2 * messages[0].content.length }))
})
doubling.listen(0, '127.0.0.1')
await once(doubling, 'listening')
const real = await startModelServer()
const llama = { provider: 'llamacpp', endpoint: real.url, model: 'tiny' }
const endpoint = `http://127.0.0.1:${(doubling.address() as AddressInfo).port}`
const front = await startFront({
  upstreams: [
    { name: 'reporting', endpoint: reporting.url, tokenizer: { encoding: 'o200k_base' } },
    { name: 'silent', endpoint: silent.url },
    { name: 'doubling', provider: 'vllm', endpoint },
    { name: 'real', ...llama },
    { name: 'file', ...llama, tokenizer: { file: real.tokenizerFile } },
    { name: 'runtime', ...llama, tokenizer: { upstream: true } },
  ],
  routes: ['reporting', 'silent', 'doubling', 'real', 'file', 'runtime'].map((name) => ({
    name,
    strategy: 'single',
    primary: name,
  })),
})
after(() =>
  Promise.all([
    front.process.stop(),
    reporting.close(),
    silent.close(),
    real.stop(),
    doubling.close(),
  ]),
)

const verify = (upstream: string, ...more: string[]) =>
  gw('tokens', 'verify', '--admin', front.process.adminUrl, '--upstream', upstream, ...more)

test('an exact count agrees with the usage that the upstream reports', async () => {
  const { code, stdout } = await verify('reporting', '--sample', '12')
  assert.match(
    stdout,
    /reporting: 0\.00 % off, within 0\.50 %; the gateway's count is exact by o200k_base, the upstream's its usage/,
  )
  assert.equal(code, 0)
  assert.equal(reporting.asked.length, 12)
  assert.equal(
    reporting.asked[0]?.body.max_tokens ?? reporting.asked[0]?.body.max_completion_tokens,
    1,
  )
  assert.equal(await front.value('gw_tokenizer_drift_ratio{upstream="reporting"}'), 0)
})

test("a wrong estimate ends with 1, and the runtime's tokenizer is shown", async () => {
  const { code, stdout } = await verify('doubling', '-o', 'json')
  const verified = JSON.parse(stdout)
  assert.equal(code, 1)
  assert.partialDeepStrictEqual(verified, { ok: false, exact: false, source: 'tokenizer' })
  assert.equal(verified.samples.length, 16)
  assert.ok(verified.drift > 0.5)
})

test('a real model server counts with its own tokenizer', async () => {
  const { stdout } = await verify('real', '-o', 'json', '--sample', '3')
  const { samples, failures } = JSON.parse(stdout)
  assert.deepEqual(failures, [])
  assert.ok(samples.every(({ upstream }: { upstream: number }) => upstream > 5))
})

test("a tokenizer.json counts as the real model's server does", async () => {
  const { code, stdout } = await verify('file', '--sample', '12')
  assert.match(
    stdout,
    /file: 0\.00 % off.*exact by \/.*tokenizer\.json, the upstream's its tokenizer/,
  )
  assert.equal(code, 0)
})

test('counts of the runtime itself are compared with the usage of its answers', async () => {
  const { code, stdout } = await verify('runtime', '-o', 'json', '--sample', '3')
  assert.partialDeepStrictEqual(JSON.parse(stdout), {
    exact: true,
    by: 'upstream',
    source: 'usage',
  })
  assert.equal(code, 0)
})

test('an upstream without usage and an unknown one end with 1', async () => {
  const nothing = await verify('silent')
  assert.equal(nothing.code, 1)
  assert.match(nothing.stdout, /its answer has no usage\nsilent: no counts could be compared/)
  assert.equal((await verify('nowhere')).code, 1)
  assert.equal((await verify('reporting', '--sample', 'all')).code, 64)
})
