/** An inspector gets a whole answer before the client, and may change it, refuse it, or take its time. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GatewayError } from '../../../../dataplane/base/errors.ts'
import type { Answer } from '../../../../dataplane/wire/inner-form.ts'
import { aToy, aVisit, SPOKEN } from './inspected-visit.ts'

const BLOCKED = new GatewayError('ERR_GW_GUARDRAIL_BLOCKED', 'No.')

function loud(answer: Answer): Answer {
  if (!('choices' in answer)) return answer
  const choices = answer.choices.map((one) => ({ ...one, text: one.text.toUpperCase() }))
  return { ...answer, choices }
}

for (const spoken of SPOKEN) {
  const { provider } = spoken
  for (const whole of [loud, async (answer: Answer) => loud(answer)]) {
    const when = whole === loud ? 'at once' : 'later'
    test(`${provider}: a whole answer is changed ${when}, and charged by its usage`, async () => {
      const visit = await aVisit(spoken, false, aToy({ whole }))
      await visit.say(spoken.whole)
      visit.end()
      await visit.done
      assert.equal(JSON.parse(visit.heard.body).choices[0].message.content, 'HELLO')
      assert.deepEqual(visit.charged(), ['prompt 3', 'completion 2'])
      assert.equal(visit.trace().attempts[0]?.outcome, 'ok')
    })
  }

  test(`${provider}: a whole answer is refused, and charged, and its upstream is not at fault`, async () => {
    const whole = () => {
      throw BLOCKED
    }
    const visit = await aVisit(spoken, false, aToy({ whole }))
    await visit.say(spoken.whole)
    visit.end()
    await visit.done
    assert.equal(visit.heard.status, BLOCKED.status)
    assert.match(visit.heard.body, /"ERR_GW_GUARDRAIL_BLOCKED"/)
    assert.deepEqual(visit.charged(), ['prompt 3', 'completion 2'])
    assert.deepEqual([visit.trace().attempts.length, visit.breaker()], [1, 'closed'])
    assert.equal(visit.trace().attempts[0]?.outcome, 'refused')
  })

  test(`${provider}: a client that leaves while its answer is inspected is charged once`, async () => {
    const visit = await aVisit(spoken, false, aToy({ whole: () => new Promise(() => {}) }))
    await visit.say(spoken.whole)
    visit.end()
    visit.heard.listener.closed()
    await visit.done
    assert.deepEqual(visit.charged(), ['prompt 3', 'completion 2'])
    assert.deepEqual([visit.heard.calls, visit.trace().status], [[], 499])
  })

  test(`${provider}: an inspector has the time of the request, and no more`, async () => {
    const visit = await aVisit(spoken, false, aToy({ whole: () => new Promise(() => {}) }))
    await visit.say(spoken.whole)
    visit.end()
    await visit.pass(599)
    assert.deepEqual(visit.heard.calls, [])
    await visit.pass(1)
    await visit.done
    assert.equal(visit.heard.status, 504)
    assert.match(visit.heard.body, /"ERR_GW_PROXY_TIMEOUT"/)
    assert.deepEqual([visit.charged(), visit.breaker()], [['prompt 3', 'completion 2'], 'closed'])
  })
}

test('an inspector that breaks is a mistake of the gateway, not of the upstream', async () => {
  const whole = async () => {
    throw new Error('broken')
  }
  const visit = await aVisit(SPOKEN[0]!, false, aToy({ whole }))
  await visit.say(SPOKEN[0]!.whole)
  visit.end()
  await visit.done
  assert.match(visit.heard.body, /"ERR_GW_INTERNAL"/)
  assert.equal(visit.breaker(), 'closed')
})
