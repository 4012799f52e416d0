/** The status of a breaker that blocks requests. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { breakerLines } from '../../../cli/printing/tables/upstreams-text.ts'
import { ANSWER, aRig } from './journeys.ts'

const SECRET = 'sk-of-the-upstream-4f2a91c0'

function factsOf(status: object) {
  const { name, breaker, breaker_reason, breaker_open_until, breaker_seconds_left } =
    status as Record<string, string | undefined>
  return { name, breaker, breaker_reason, breaker_open_until, breaker_seconds_left }
}

test('an open breaker has its reason and end, without the sent credential', async () => {
  const rig = aRig({
    upstreams: [
      {
        name: 'a',
        headers: { 'x-auth': SECRET },
        circuit_breaker: { failure_threshold: 1, open_duration_seconds: 30 },
      },
    ],
    routes: [{ name: 'r', strategy: 'single', primary: 'a' }],
  })
  const closed = { name: 'a', breaker: 'closed', breaker_reason: undefined }
  const none = { breaker_open_until: undefined, breaker_seconds_left: undefined }
  assert.deepEqual(factsOf(rig.status('a')), { ...closed, ...none })

  const outcome = rig.send()
  rig.last.answer(500, { error: { message: `no\nroom for ${SECRET}` } })
  await outcome
  rig.pass(12)
  const open = factsOf(rig.status('a'))
  assert.deepEqual(open, {
    name: 'a',
    breaker: 'open',
    breaker_reason: 'server 500: no room for ***',
    breaker_open_until: new Date(rig.now + 18_000).toISOString(),
    breaker_seconds_left: 18,
  })
  assert.deepEqual(breakerLines([open as never]), [
    'breaker of a: open, tries again in 18 s; last failure: server 500: no room for ***',
  ])

  rig.pass(18)
  const half = factsOf(rig.status('a'))
  assert.deepEqual(half, { ...open, breaker: 'half_open', ...none })
  assert.deepEqual(breakerLines([half as never]), [
    'breaker of a: half open; last failure: server 500: no room for ***',
  ])

  const probe = rig.send()
  rig.last.answer(200, ANSWER)
  await probe
  assert.deepEqual(factsOf(rig.status('a')), { ...closed, ...none })
  assert.deepEqual(breakerLines([factsOf(rig.status('a')) as never]), [])
})

test('a failure that does not count is no reason', async () => {
  const rig = aRig({
    upstreams: [{ name: 'a', circuit_breaker: { failure_threshold: 1, open_duration_seconds: 5 } }],
    routes: [{ name: 'r', strategy: 'single', primary: 'a' }],
  })
  const broken = rig.send()
  rig.last.fail('ECONNRESET')
  await broken
  rig.pass(5)
  const limited = rig.send()
  rig.last.answer(429, { error: { message: 'slower, please' } })
  await limited
  assert.match(String(rig.status('a').breaker_reason), /^reset: /)
})
