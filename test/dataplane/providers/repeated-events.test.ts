/** An event that repeats the form of the one before is passed like one that is searched. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { skimmer } from '../../../dataplane/providers/openai-like/skimming/skim.ts'
import { vllm } from '../../../dataplane/providers/vllm/provider.ts'
import { Meter } from '../../../dataplane/tokens/meter.ts'
import type { MeteredAttempt } from '../../../dataplane/tokens/metered-attempt.ts'
import { Tap } from '../../../dataplane/upstream/answer/tap.ts'
import { aRequest, chatStream } from '../../helpers/providers/a-request.ts'

/** The end of an event, after its choices. */
const ENDS = [
  '',
  ',"usage":null',
  ',"usage":{"prompt_tokens":9,"completion_tokens":N}',
  ',"pad":"x"',
]
const FORMS = ['content', 'reasoning_content', 'refusal']
const BOOLEANS = [false, true]

function eventOf(form: string, end: string, text: string, index: number): string {
  const choice = `{"index":0,"delta":{"${form}":"${text}"},"finish_reason":null}`
  return `data: {"id":"c","choices":[${choice}]${end.replace('N', String(index + 1))}}\n\n`
}

function heard({ contentEvents, weight, usage, isCurrent }: MeteredAttempt) {
  return { contentEvents, weight, usage, isCurrent }
}

/** Bytes as they are, also such as no JSON has. */
const raw = fc.string({
  unit: fc.constantFrom('a', ' ', '\\', '"', '\n', '\r', 'é', '{', '}', ',', ':'),
})
const text = fc.oneof(
  fc.string().map((one) => JSON.stringify(one).slice(1, -1)),
  raw,
)
const event = fc.tuple(fc.constantFrom(...FORMS), fc.constantFrom(...ENDS), text)

test('the client gets the same bytes, and the same is counted, with events before it and without', () => {
  const options = fc.tuple(
    fc.constantFrom(...BOOLEANS),
    fc.constantFrom(...BOOLEANS),
    fc.constantFrom(...BOOLEANS),
  )
  fc.assert(
    fc.property(fc.array(event, { maxLength: 6 }), options, (events, [hides, shows, repeats]) => {
      const skimming = { hidesUsage: hides, showsRepeated: shows, repeatsUsage: repeats }
      const remembering = skimmer(skimming)
      const [one, other] = [new Meter().begin('up', 'm'), new Meter().begin('up', 'm')]
      for (const [index, [form, end, words]] of events.entries()) {
        const frame = Buffer.from(eventOf(form, end, words, index))
        const searched = skimmer(skimming)(frame, other)
        const passed = remembering(frame, one)
        // One that is read instead would pass with the same bytes.
        if (searched === undefined) return
        assert.equal(String(passed), String(searched))
        assert.deepEqual(heard(one), heard(other))
      }
    }),
    { numRuns: 500 },
  )
})

test('a run with an event that must be read is counted and shown like its events one by one', () => {
  const word = (index: number) => eventOf('content', ENDS[2] ?? '', ' word', index)
  const finish = word(9).replace('"finish_reason":null', '"finish_reason":"stop"')
  const events = [word(0), word(1), word(2), word(3), finish, 'data: [DONE]\n\n']
  const streamed = (reads: readonly string[]) => {
    const metered = new Meter().begin('up', 'm')
    const tap = new Tap(chatStream(vllm, aRequest({ stream: true })), vllm.framing, metered)
    const shown = reads.map((read) => String(tap.take(Buffer.from(read)))).join('')
    return { shown, ...heard(metered), done: tap.done, finished: tap.finished }
  }
  const [first = '', ...others] = events
  const alone = streamed(events)
  assert.deepEqual(streamed([first, others.join('')]), alone)
  assert.deepEqual(streamed([events.join('')]), alone)
  assert.equal(alone.contentEvents, 5)
})

test('a form that never repeats is not remembered for ever', () => {
  const skim = skimmer({ hidesUsage: false, showsRepeated: false })
  const metered = new Meter().begin('up', 'm')
  for (let index = 0; index < 100; index++) {
    const frame = Buffer.from(eventOf('content', `,"pad":"${index}"`, ' word', index))
    assert.equal(skim(frame, metered), frame)
  }
  assert.equal(metered.contentEvents, 100)
})
