/** An inspector in a stream: it holds, changes and ends the client's data, in order and in bounds. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GatewayError } from '../../../../dataplane/base/errors.ts'
import type { AnswerEvent } from '../../../../dataplane/wire/inner-form.ts'
import type { StreamInspector } from '../../../../dataplane/wire/inspection.ts'
import { aToy, aVisit, changed, SPOKEN } from './inspected-visit.ts'

const BLOCKED = new GatewayError('ERR_GW_GUARDRAIL_BLOCKED', 'No.')

const loud = (event: AnswerEvent) => changed(event, (text) => text.toUpperCase())

/** Holds everything to the end. */
function holding(): StreamInspector {
  const held: AnswerEvent[] = []
  return {
    next(events) {
      held.push(...events)
      return []
    },
    end: async () => held.map(loud),
  }
}

/** Works on every batch until the test lets it continue. */
function thinking() {
  const thoughts: (() => void)[] = []
  const stream = (): StreamInspector => ({
    next: (events) => new Promise((resolve) => thoughts.push(() => resolve(events.map(loud)))),
    end: () => [],
  })
  return { thoughts, stream }
}

/** Ends the answer with this error at the first event with this text. */
function stopping(word: string, stop: (events: readonly AnswerEvent[]) => readonly AnswerEvent[]) {
  return (): StreamInspector => ({
    next: (events) => (JSON.stringify(events).includes(word) ? stop(events) : events),
    end: () => [],
  })
}

const refusing = stopping('bad', () => {
  throw BLOCKED
})

for (const spoken of SPOKEN) {
  const { provider, begin, word, end } = spoken

  test(`${provider}: a stream is changed event by event, and ends as it would have`, async () => {
    const stream = (): StreamInspector => ({ next: (events) => events.map(loud), end: () => [] })
    const visit = await aVisit(spoken, true, aToy({ stream }))
    await visit.say(begin, word('hel'))
    assert.equal(visit.text(), 'HEL')
    await visit.say(word('lo'))
    assert.equal(visit.text(), 'HEL|LO')
    await visit.say(end)
    visit.end()
    await visit.done
    assert.match(visit.heard.body, /"finish_reason":"stop".*\n\ndata: \[DONE\]\n\n$/s)
    assert.equal(visit.heard.calls.at(-1), 'end')
    assert.deepEqual(visit.charged(), ['prompt 3', 'completion 2'])
  })

  test(`${provider}: a stream that is held is sent at its end, with heartbeats before`, async () => {
    const visit = await aVisit(spoken, true, aToy({ stream: holding }))
    await visit.say(begin, word('hel'), word('lo'))
    assert.equal(visit.heard.body, '')
    await visit.pass(15)
    assert.equal(visit.heard.body, ': keepalive\n')
    await visit.say(end)
    visit.end()
    await visit.done
    assert.equal(visit.text(), 'HEL|LO')
    assert.match(visit.heard.body, /data: \[DONE\]\n\n$/)
    assert.equal(visit.trace().attempts[0]?.outcome, 'ok')
  })

  test(`${provider}: more than a mebibyte may be held and sent`, async () => {
    const visit = await aVisit(spoken, true, aToy({ stream: holding }))
    await visit.say(begin)
    for (let count = 0; count < 20; count++) await visit.say(word('x'.repeat(65_536)))
    await visit.say(end)
    visit.end()
    await visit.done
    assert.equal(visit.text().replaceAll('|', '').length, 20 * 65_536)
  })

  test(`${provider}: the upstream waits while an inspector works, and its bytes stay in order`, async () => {
    const { thoughts, stream } = thinking()
    const visit = await aVisit(spoken, true, aToy({ stream }))
    await visit.say(begin + word('a'))
    assert.deepEqual(visit.heardByUpstream, ['pause'])
    await visit.say(word('b'), word('c'), end)
    visit.end()
    assert.equal(thoughts.length, 1)
    const seen: string[] = []
    while (thoughts.length > 0) {
      thoughts.shift()?.()
      await visit.say()
      seen.push(visit.text())
    }
    await visit.done
    assert.deepEqual(seen, ['A', 'A|B', 'A|B|C', 'A|B|C'])
    assert.match(visit.heard.body, /data: \[DONE\]\n\n$/)
    assert.deepEqual(visit.charged(), ['prompt 3', 'completion 2'])
  })

  test(`${provider}: the upstream continues when the inspector and the client are both ready`, async () => {
    const { thoughts, stream } = thinking()
    const visit = await aVisit(spoken, true, aToy({ stream }))
    await visit.say(begin + word('a'))
    visit.heard.needsDrain = true
    thoughts.shift()?.()
    await visit.say()
    assert.equal(visit.heardByUpstream.at(-1), 'pause')
    visit.heard.listener.drained()
    assert.equal(visit.heardByUpstream.at(-1), 'resume')
    await visit.say(word('b'))
    const before = visit.heardByUpstream.length
    visit.heard.listener.drained()
    assert.equal(visit.heardByUpstream.length, before, 'the inspector is still working')
    visit.heard.needsDrain = false
    thoughts.shift()?.()
    await visit.say()
    assert.equal(visit.heardByUpstream.at(-1), 'resume')
  })

  test(`${provider}: a stream that is refused before its first content is a plain refusal`, async () => {
    const visit = await aVisit(spoken, true, aToy({ stream: refusing }))
    await visit.say(begin, word('bad'), word('more'))
    await visit.done
    assert.deepEqual([visit.heard.calls, visit.heard.status], [['whole'], BLOCKED.status])
    assert.equal(visit.heardByUpstream.at(-1), 'the answer was refused')
    assert.equal(visit.trace().attempts[0]?.outcome, 'refused')
    assert.deepEqual([visit.handlers.length, visit.breaker()], [1, 'closed'])
    assert.equal(visit.trace().usage_estimated ?? provider === 'anthropic', true)
  })

  test(`${provider}: a stream that is refused after content is cut with the code of the refusal`, async () => {
    const visit = await aVisit(spoken, true, aToy({ stream: refusing }))
    await visit.say(begin, word('good'), word('bad'))
    await visit.done
    await visit.say()
    assert.equal(visit.text(), 'good')
    assert.match(visit.heard.body, /data: \{"error":.*"ERR_GW_GUARDRAIL_BLOCKED".*\n\n$/)
    assert.doesNotMatch(visit.heard.body, /bad/)
    assert.equal(visit.heard.calls.at(-1), 'cut')
    assert.equal(visit.breaker(), 'closed')
  })

  test(`${provider}: an answer that the inspector ends is a whole one, and the upstream is aborted`, async () => {
    const filtered: AnswerEvent = { kind: 'end', choice: 0, finish: 'content_filter' }
    const visit = await aVisit(spoken, true, aToy({ stream: stopping('bad', () => [filtered]) }))
    await visit.say(begin, word('good'), word('bad'), word('more'))
    await visit.done
    assert.equal(visit.text(), 'good')
    assert.match(visit.heard.body, /"finish_reason":"content_filter".*data: \[DONE\]\n\n$/s)
    assert.equal(visit.heard.calls.at(-1), 'end')
    assert.equal(visit.heardByUpstream.at(-1), 'the answer has ended')
  })

  test(`${provider}: an inspector that never answers is cut with the time of the request`, async () => {
    for (const [texts, expected] of [
      [[begin, word('a')], /^(: keepalive\n)+data: \{"error":.*"ERR_GW_PROXY_TIMEOUT"/],
      [[begin, word('a'), end], /^(: keepalive\n)+data: \{"error":.*"ERR_GW_PROXY_TIMEOUT"/],
    ] as const) {
      const visit = await aVisit(spoken, true, aToy({ stream: thinking().stream }))
      await visit.say(...texts)
      for (let second = 0; second < 600; second += 30) await visit.pass(30)
      await visit.done
      assert.match(visit.heard.body, expected)
      assert.equal(visit.breaker(), 'closed')
    }
  })

  test(`${provider}: an end that is held forever is cut with the time of the request`, async () => {
    const stream = (): StreamInspector => ({
      next: (events) => events.filter(({ kind }) => kind !== 'end'),
      end: () => new Promise(() => {}),
    })
    const visit = await aVisit(spoken, true, aToy({ stream }))
    await visit.say(begin, word('a'), end)
    visit.end()
    for (let second = 0; second < 600; second += 30) await visit.pass(30)
    await visit.done
    assert.match(visit.heard.body, /"ERR_GW_STREAM_ABORTED"/)
    assert.deepEqual(visit.charged(), ['prompt 3', 'completion 2'])
  })

  test(`${provider}: a client that leaves while an inspector works ends the attempt, charged once`, async () => {
    for (const first of [[], [word('a')]]) {
      const { thoughts, stream } = thinking()
      const visit = await aVisit(spoken, true, aToy({ stream }))
      await visit.say(begin)
      thoughts.shift()?.()
      for (const text of first) {
        await visit.say(text)
        thoughts.shift()?.()
        await visit.say()
      }
      await visit.say(word('b'))
      visit.heard.listener.closed()
      // The rest is read for a moment, because the usage may arrive.
      await visit.pass(1)
      await visit.done
      const charged = visit.charged()
      thoughts.shift()?.()
      await visit.say(word('c'))
      assert.equal(visit.heardByUpstream.at(-1), 'the client left')
      assert.equal(visit.heardByUpstream.filter((one) => one === 'the client left').length, 1)
      assert.deepEqual(visit.charged(), charged)
      assert.doesNotMatch(visit.heard.body, /"B"/)
    }
  })

  test(`${provider}: an upstream that fails while all of its words are held is replaced by another`, async () => {
    const visit = await aVisit(spoken, true, aToy({ stream: holding }))
    await visit.say(begin, word('lost'))
    visit.fail()
    await visit.say()
    visit.begin()
    await visit.say(begin, word('kept'), end)
    visit.end()
    await visit.done
    assert.equal(visit.text(), 'KEPT')
    assert.deepEqual(
      visit.trace().attempts.map(({ upstream, outcome }) => [upstream, outcome]),
      [
        ['up', 'reset'],
        ['other', 'ok'],
      ],
    )
  })
}
