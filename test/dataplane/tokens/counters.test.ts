/**
 * Upstreams may count prompts differently, at once or later; each counter is called once before a request is admitted.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { GatewayError } from '../../../dataplane/base/errors.ts'
import type { Admission } from '../../../dataplane/request/stages/admit.ts'
import { settle } from '../../../dataplane/request/stages/settle.ts'
import { aRequest } from '../../helpers/providers/a-request.ts'
import { aCountedGateway, aCounter } from './counted-routes.ts'

/** More bytes than the windows of these tests have tokens. */
const LONG = { messages: [{ role: 'user', content: 'many words '.repeat(200) }] }

function fitting({ lane, fits }: Admission): string[] {
  return lane.targets.filter(fits).map(({ name }) => name)
}

test('each upstream judges its window by its own count', async () => {
  for (const later of [false, true]) {
    const { admit } = aCountedGateway({
      chat: [
        { window: 1000, counter: aCounter(900, later) },
        { window: 1000, counter: aCounter(1001, later) },
        { window: 1000, counter: aCounter(990) },
      ],
    })
    const admission = admit({ ...LONG, max_tokens: 50 })
    assert.equal(admission instanceof Promise, later)
    assert.deepEqual(fitting(await admission), ['chat-0'])
  }
})

test('a prompt that fits no upstream is refused by the count of the one with the largest window', async () => {
  for (const later of [false, true]) {
    const { admit } = aCountedGateway({
      chat: [
        { window: 500, counter: aCounter(600, later) },
        { window: 1000, counter: aCounter(2000, later) },
      ],
    })
    await assert.rejects(
      async () => admit(LONG),
      ({ code, details }: GatewayError) => {
        assert.equal(code, 'ERR_GW_CONTEXT_OVERFLOW')
        assert.deepEqual(
          [details.facts?.prompt_tokens, details.facts?.context_window],
          [2000, 1000],
        )
        return true
      },
    )
  }
})

test('a budget reserves the largest count of all upstreams, and no more if all are exact', async () => {
  for (const [counts, reserved] of [
    [[aCounter(40), aCounter(70)], 70 + 10],
    [[aCounter(40, true), aCounter(30)], 40 + 10],
  ] as const) {
    const upstreams = counts.map((counter) => ({ window: 100_000, counter }))
    const { admit } = aCountedGateway({ chat: upstreams }, { budgeted: true })
    const { lease } = await admit({ ...LONG, max_tokens: 10 })
    assert.equal(lease.held.tokens, reserved)
  }
  const estimated = aCountedGateway({ chat: [{ window: 100_000 }] }, { budgeted: true })
  const { lease } = await estimated.admit({ ...LONG, max_tokens: 10 })
  const { promptTokensMax } = aRequest(LONG)
  assert.ok(lease.held.tokens >= promptTokensMax, 'an estimate may be too low')
})

test('a counter is called once for all upstreams that share it, including those of the downgrade route', async () => {
  const shared = aCounter(40, true)
  const other = aCounter(50, true)
  const { admit, gateway } = aCountedGateway(
    {
      chat: [
        { window: 100_000, counter: shared },
        { window: 100_000, counter: shared },
      ],
      small: [
        { window: 100_000, counter: other },
        { window: 100_000, counter: shared },
      ],
    },
    { downgrade: 'small' },
  )
  const admission = await admit(LONG)
  assert.deepEqual([shared.asked, other.asked], [1, 1])
  settle(aRequest(LONG), admission, gateway)
})

test('nothing is counted if every window has room for the bytes and no budget applies', () => {
  const counter = aCounter(40, true)
  const { admit } = aCountedGateway({ chat: [{ window: 100_000, counter }] })
  const admission = admit(LONG)
  assert.equal(admission instanceof Promise, false)
  assert.equal(counter.asked, 0)
})

test('an estimate is there at once', () => {
  for (const budgeted of [false, true]) {
    const { admit } = aCountedGateway({ chat: [{ window: 1000 }] }, { budgeted })
    assert.equal(admit({ messages: [{ role: 'user', content: 'Hi' }] }) instanceof Promise, false)
  }
})
