/**
 * A primary that is down for a minute, in the order and the times of Failover Bench's S15, on a clock that the test
 * advances.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { ANSWER, type Asked, aRig, CONTENT, EVENTS, type Rig } from './journeys.ts'

type Fields = Readonly<Record<string, unknown>>

const OUTAGE_SECONDS = 60
/** A request every four seconds; the last one comes sixteen seconds after the outage. */
const EVERY_SECONDS = 4
const LAST_SECONDS = 76

/** The bench counts two rows: one gateway with its defaults, and one with a limit for the first content. */
const ROWS: Readonly<Record<string, Fields>> = {
  'as it comes': {},
  'with a limit of 10 s for the first content': { timeout_seconds: 10 },
}

function aFlappingRig(settings: Fields): Rig {
  return aRig({
    upstreams: [
      {
        ...{ name: 'primary', ...settings },
        circuit_breaker: {
          failure_threshold: 5,
          open_duration_seconds: 30,
          half_open_probes: 1,
        },
      },
      { name: 'fallback', ...settings },
    ],
    routes: [
      {
        name: 'r',
        strategy: 'primary_with_fallback',
        primary: 'primary',
        fallback: ['fallback'],
        retry: { max_attempts: 3, initial_delay_ms: 1 },
      },
    ],
  })
}

/** Each upstream answers at once; the pause before a repeat is a millisecond of real time. */
async function ask(rig: Rig, stream: boolean, deed: (asked: Asked) => void): Promise<string> {
  let kind: string | undefined
  void rig.send({ stream }).then((outcome) => {
    kind = 'kind' in outcome ? outcome.kind : 'refused'
  })
  let answered = rig.asked.length - 1
  while (kind === undefined) {
    for (const asked of rig.asked.slice(answered)) deed(asked)
    answered = rig.asked.length
    await delay(1)
  }
  return kind
}

function answer(asked: Asked, stream: boolean): void {
  if (!stream) asked.answer(200, ANSWER)
  else {
    asked.head(200, EVENTS)
    asked.data(CONTENT)
    asked.data('data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n')
    asked.data('data: [DONE]\n\n')
    asked.end()
  }
}

for (const [row, settings] of Object.entries(ROWS)) {
  for (const stream of [true, false]) {
    test(`a flapping primary is used again within 16 s of its return, ${row}, ${stream ? 'as stream' : 'whole'}`, async () => {
      const rig = aFlappingRig(settings)
      const endings: string[] = []
      const asked = { during: 0, after: 0 }
      for (let at = 0; at <= LAST_SECONDS; at += EVERY_SECONDS) {
        const isDown = at < OUTAGE_SECONDS
        endings.push(
          await ask(rig, stream, (one) => {
            const isPrimary = one.upstream === 'primary'
            if (isPrimary) asked[isDown ? 'during' : 'after']++
            if (isPrimary && isDown) one.answer(503, { error: { message: 'overloaded' } })
            else answer(one, stream)
          }),
        )
        rig.pass(EVERY_SECONDS)
      }
      const requests = LAST_SECONDS / EVERY_SECONDS + 1
      assert.deepEqual(endings, Array(requests).fill(stream ? 'stream' : 'whole'))
      assert.ok(asked.after > 0, `asked ${asked.during} times while down, and never again`)
      const duringMax = OUTAGE_SECONDS / EVERY_SECONDS
      assert.ok(asked.during <= duringMax, `asked ${asked.during} times for ${duringMax} requests`)
    })
  }
}

test('an open primary is used at once after its health probe has recovered, even after too few failures for unhealthy', async () => {
  for (const failures of [1, 3]) {
    const rig = aFlappingRig({})
    const down = (one: Asked) => {
      if (one.upstream === 'fallback') answer(one, false)
      else one.answer(503, { error: { message: 'overloaded' } })
    }
    for (let each = 0; each < 3; each++) await ask(rig, false, down)
    const { breaker, health } = rig.state('primary')
    for (let each = 0; each < failures; each++) health.observe(false, rig.now)
    rig.pass(5)
    health.observe(true, rig.now)
    assert.equal(breaker.peek(rig.now), 'open')
    health.observe(true, rig.now)
    assert.equal(breaker.peek(rig.now), 'half_open')
    await ask(rig, false, (one) => answer(one, false))
    assert.equal(rig.last.upstream, 'primary')
    assert.equal(breaker.peek(rig.now), 'closed')
  }
})

/** S07 of the bench: the only fault whose verdict differs between the rows. An answer after more than 20 s is `partial`. */
for (const [row, settings] of Object.entries(ROWS)) {
  test(`a missing first token is waited for, ${row}`, async () => {
    const rig = aFlappingRig(settings)
    const outcome = rig.send({ stream: true })
    const begun = rig.now
    rig.last.head(200, EVENTS)
    while (rig.last.upstream === 'primary') {
      rig.pass(1)
      await delay(1)
    }
    const seconds = (rig.now - begun) / 1000
    answer(rig.last, true)
    assert.equal(((await outcome) as { kind: string }).kind, 'stream')
    assert.equal(rig.asked.length, 2)
    assert.ok(Math.abs(seconds - (settings.timeout_seconds === 10 ? 10 : 30)) <= 1, `${seconds}`)
  })
}
