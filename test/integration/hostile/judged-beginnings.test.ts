/**
 * If a body names its model near its beginning, a refusal comes before the rest of the body and
 * costs no work.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CHAT_HEADERS, chatBytes, open, startFront } from './front.ts'

const BEGINNING = `{"model":"nothing","messages":[{"role":"user","content":"${'x'.repeat(2_000)}`
const LIMITED = {
  default: { requests_per_minute: 1, burst: 1, concurrent_requests: 10 },
}

const begun = (length: number) =>
  chatBytes({ headers: [...CHAT_HEADERS, `Content-Length: ${length}`], body: BEGINNING })

test('an unknown model is refused before the rest of the body arrives, and a long body counts as one request', async () => {
  for (const [length, then] of [
    [60_000, 200],
    [900_000, 429],
  ]) {
    const front = await startFront({ sections: { rate_limits: LIMITED } })
    const socket = open(front, begun(Number(length)))
    assert.ok(await socket.until(() => socket.answers.length === 1))
    assert.equal(socket.answers[0]?.status, 404)
    const second = open(front, chatBytes())
    assert.ok(await second.until(() => second.answers.length === 1))
    assert.equal(second.answers[0]?.status, then)
    socket.leave()
    second.leave()
    await front.stop()
  }
})
