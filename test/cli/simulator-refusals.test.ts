import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aSimulator, hello } from './a-simulator.ts'

const refused = [
  ['no messages', { model: 'm' }, 400, null, 'messages'],
  ['a body that is not JSON', '{', 400, null, null],
  ['no room for a token', { ...hello, max_tokens: 0 }, 400, null, 'max_tokens'],
  [
    'more than its window',
    { ...hello, max_tokens: 131_072 },
    400,
    'context_length_exceeded',
    'messages',
  ],
  ['a model it does not serve', { ...hello, model: 'other' }, 404, 'model_not_found', 'model'],
] as const

for (const [what, body, status, code, param] of refused) {
  test(`${what} is refused with ${status} and OpenAI's error object`, async (t) => {
    const { post } = await aSimulator(t, { model: 'any' })
    const answer = await post('/v1/chat/completions', body)
    const { error } = (await answer.json()) as { error: Record<string, unknown> }
    assert.equal(answer.status, status)
    assert.deepEqual(Object.keys(error), ['message', 'type', 'param', 'code'])
    assert.partialDeepStrictEqual(error, { type: 'invalid_request_error', code, param })
  })
}

test('unknown paths are 404, known ones with another method 405', async (t) => {
  const { simulator, post } = await aSimulator(t)
  assert.equal((await fetch(`${simulator.url}/v2`)).status, 404)
  assert.equal((await post('/v1/models', {})).status, 405)
})

test('with a key, only health and metrics are open', async (t) => {
  const { simulator, client, post } = await aSimulator(t, { apiKey: 'secret' })
  const status = async (path: string) => (await fetch(`${simulator.url}${path}`)).status
  assert.equal((await client.chat.completions.create(hello)).choices.length, 1)
  assert.equal(await status('/v1/models'), 401)
  const wrong = await post('/v1/chat/completions', hello, { authorization: 'Bearer wrong' })
  assert.equal(wrong.status, 401)
  assert.partialDeepStrictEqual(await wrong.json(), { error: { code: 'invalid_api_key' } })
  assert.equal(await status('/health'), 200)
  assert.equal(await status('/metrics'), 200)
})

test('the share of failures is the requested one, and the same for a seed', async (t) => {
  const statuses = async () => {
    const { post } = await aSimulator(t, { errorRate: 0.3, errorStatus: 503, seed: 7 })
    const seen: number[] = []
    for (let index = 0; index < 100; index += 1) {
      const answer = await post('/v1/chat/completions', { ...hello, stream: index % 2 === 0 })
      await answer.text()
      seen.push(answer.status)
    }
    return seen
  }
  const seen = await statuses()
  const failed = seen.filter((status) => status === 503).length
  assert.ok(failed > 15 && failed < 45, `${failed} of 100`)
  assert.equal(seen.filter((status) => status === 200).length, 100 - failed)
  assert.deepEqual(await statuses(), seen)
})
