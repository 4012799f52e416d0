import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { test } from 'node:test'
import OpenAI from 'openai'
import { facts as vllm } from '../../dataplane/providers/vllm/facts.ts'
import { queueOf } from '../../dataplane/upstream/live/queue-gauges.ts'
import { until } from '../helpers/until.ts'
import { aSimulator, hello } from './a-simulator.ts'

test('the first token and the others come when they are due', async (t) => {
  const { client } = await aSimulator(t, { latencyMs: 60, tokensPerSecond: 100, tokens: 11 })
  const begin = performance.now()
  const stream = await client.chat.completions.create({ ...hello, stream: true })
  const moments: number[] = []
  for await (const _ of stream) moments.push(performance.now() - begin)
  // Timers are never early; how late they are is the machine's affair.
  assert.ok(moments[0]! >= 59, `${moments[0]}`)
  assert.ok(moments.at(-1)! >= 159, `${moments.at(-1)}`)
})

test('an answer that is not a stream takes as long as its last token', async (t) => {
  const { client } = await aSimulator(t, { tokensPerSecond: 100, tokens: 11 })
  const begin = performance.now()
  await client.chat.completions.create(hello)
  assert.ok(performance.now() - begin >= 99)
})

test('above its slots requests wait, and the gauges say so as those of vLLM do', async (t) => {
  const { simulator, client } = await aSimulator(t, {
    slots: 1,
    tokens: 60_000,
    tokensPerSecond: 100,
  })
  const begun = await client.chat.completions.create({ ...hello, stream: true })
  const waiting = client.chat.completions.create({ ...hello, max_tokens: 1 })
  const impatient = new AbortController()
  const leaving = client.chat.completions.create(hello, { signal: impatient.signal })
  leaving.catch(() => undefined)
  const gauges = async () => {
    const text = await (await fetch(`${simulator.url}/metrics`)).text()
    return queueOf(vllm.queueGauges!, text)
  }
  await until('two wait', () => simulator.state().waiting === 2)
  assert.deepEqual(await gauges(), { running: 1, waiting: 2 })
  impatient.abort()
  await until('one has left the queue', () => simulator.state().waiting === 1)
  begun.controller.abort()
  assert.equal((await waiting).choices[0]?.message.content, 'You')
  await until('nothing runs', () => simulator.state().running === 0)
  assert.deepEqual(await gauges(), { running: 0, waiting: 0 })
})

test('it stops producing when the client leaves', async (t) => {
  const { simulator, client } = await aSimulator(t, { tokens: 60_000, tokensPerSecond: 1000 })
  const stream = await client.chat.completions.create({ ...hello, stream: true })
  for await (const _ of stream) break
  await until('it has noticed', () => simulator.state().running === 0)
  assert.ok(simulator.state().generatedTokens < 60_000)
})

test('a client that reads nothing is not produced for without bound', async (t) => {
  const { simulator } = await aSimulator(t, { tokens: 65_000 })
  const request = httpRequest(`${simulator.url}/v1/chat/completions`, { method: 'POST' })
  request.end(JSON.stringify({ ...hello, n: 20, stream: true }))
  const [response] = await once(request, 'response')
  let before = -1
  await until('it waits for the reader', async () => {
    const { generatedTokens } = simulator.state()
    const isStill = generatedTokens > 0 && generatedTokens === before
    before = generatedTokens
    return isStill
  })
  assert.ok(before < 20 * 65_000)
  response.destroy()
  await until('it has noticed', () => simulator.state().running === 0)
})

test('stopping cuts what is in flight', async (t) => {
  const { simulator, client } = await aSimulator(t, { latencyMs: 60_000 })
  const pending = client.chat.completions.create(hello)
  const cut = assert.rejects(pending, OpenAI.APIConnectionError)
  await until('it runs', () => simulator.state().running === 1)
  await simulator.stop()
  await cut
})
