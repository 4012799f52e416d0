/** Reading a passing stream: the same bytes, usage and end, in any pieces and with either reader. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chatReading } from '../../../../dataplane/apis/openai-chat/reading.ts'
import { parseRequest } from '../../../../dataplane/body/request.ts'
import { PROVIDERS } from '../../../../dataplane/providers/index.ts'
import { openai } from '../../../../dataplane/providers/openai/provider.ts'
import {
  parseEvent,
  SSE,
  SseFramer,
  splitEvents,
} from '../../../../dataplane/providers/openai-like/sse.ts'
import { Meter } from '../../../../dataplane/tokens/meter.ts'
import type { MeteredAttempt } from '../../../../dataplane/tokens/metered-attempt.ts'
import { Tap } from '../../../../dataplane/upstream/answer/tap.ts'
import type { Provider } from '../../../../dataplane/wire/provider.ts'
import { chatStream } from '../../../helpers/providers/a-request.ts'
import { cut, recorded } from './streams.ts'

function aRequest(includeUsage: boolean) {
  const options = includeUsage ? ',"stream_options":{"include_usage":true}' : ''
  const text = `{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]${options}}`
  return parseRequest(Buffer.from(text), chatReading, 0)
}

interface Read {
  readonly text: string
  readonly tap: Tap
  readonly metered: MeteredAttempt
}

function read(chunks: readonly Buffer[], provider: Provider = openai, includeUsage = false): Read {
  const metered = new Meter().begin('up', 'm')
  const tap = new Tap(chatStream(provider, aRequest(includeUsage)), provider.framing, metered)
  const framer = new SseFramer()
  const out: Buffer[] = []
  for (const chunk of chunks) {
    const events = framer.push(chunk)
    if (events !== undefined) out.push(tap.take(events))
  }
  out.push(tap.take(framer.rest()))
  return { text: Buffer.concat(out).toString('latin1'), tap, metered }
}

/** Every event through the provider's own reader, for comparison with the fast reader. */
function readSlowly(bytes: Buffer, provider: Provider, includeUsage: boolean): string {
  const reader = chatStream(provider, aRequest(includeUsage))
  let text = ''
  for (const event of splitEvents(bytes)) {
    const parsed = parseEvent(event)
    if (parsed === undefined) {
      if (reader.passesComments) text += event.toString('latin1')
      continue
    }
    const meaning = reader.read(parsed)
    if (meaning.failure !== undefined) break
    if (meaning.out === 'same') text += event.toString('latin1')
    else text += Buffer.from(meaning.out).toString('latin1')
    if (meaning.done) break
  }
  return text
}

/** Other framings are cut at every place in the tests of their providers. */
const SPEAKS_SSE = ({ framing }: Provider) => framing.mediaType === SSE.mediaType

for (const provider of [...PROVIDERS.values()].filter(SPEAKS_SSE)) {
  for (const { name, bytes } of recorded(provider.name)) {
    for (const includeUsage of [false, true]) {
      const shown = includeUsage ? 'shown' : 'hidden'
      test(`${name}, usage ${shown}: every split reads like event by event`, () => {
        const slow = readSlowly(bytes, provider, includeUsage)
        const whole = read([bytes], provider, includeUsage)
        for (let place = 0; place <= bytes.length; place++) {
          const { text, tap, metered } = read(cut(bytes, place), provider, includeUsage)
          assert.equal(text, slow, `split at ${place}`)
          assert.deepEqual(metered.usage, whole.metered.usage)
          assert.deepEqual(
            [tap.content, tap.finished, tap.done, tap.failure],
            [whole.tap.content, whole.tap.finished, whole.tap.done, whole.tap.failure],
          )
        }
        if (!includeUsage) assert.doesNotMatch(slow, /"usage":\{/)
      })
    }
  }
}

const WORD = 'data: {"choices":[{"index":0,"delta":{"content":"word"}}]}\n\n'
const END = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
const USAGE = '"usage":{"prompt_tokens":7,"completion_tokens":3}'
const COUNT = `data: {"choices":[],${USAGE}}\n\n`
const DONE = 'data: [DONE]\n\n'

function readEach(...events: readonly string[]): Read {
  return read(events.map((event) => Buffer.from(event)))
}

test('usage that the client did not request is counted and not shown', () => {
  const { text, metered } = readEach(WORD, END, COUNT, DONE)
  assert.equal(text, WORD + END + DONE)
  assert.equal(metered.usage?.promptTokens, 7)
  assert.equal(metered.usage?.completionTokens, 3)
})

test('usage counts the content so far, and all of it after the end', () => {
  const early = WORD.replace('}\n', `,${USAGE}}\n`)
  const counted = (...texts: string[]) => readEach(...texts).metered.countedEvents
  assert.equal(counted(WORD, early), 2)
  // Usage with less than a token for each event is late.
  assert.equal(counted(WORD, WORD, WORD, early), 0)
  assert.equal(counted(WORD, WORD, COUNT), 2)
  assert.equal(counted(COUNT, WORD), 0)
  assert.equal(counted(early, WORD, END), Number.POSITIVE_INFINITY)
  assert.equal(counted(early, WORD, DONE), Number.POSITIVE_INFINITY)
})

test('a null usage in every event is cut out of its bytes', () => {
  const nulled = WORD.replace('}\n', ',"usage":null}\n')
  const { text } = readEach(nulled, nulled + nulled, END, DONE)
  assert.equal(text, WORD.repeat(3) + END + DONE)
})

test('the word usage in an answer is an answer', () => {
  for (const said of [
    '\\"usage\\"',
    '\\",\\"usage\\":null',
    ',\\"usage\\":null',
    'usage',
    '[DONE]',
    '\\"error\\"',
    'data: x',
  ]) {
    const event = WORD.replace('word', said)
    const { text, tap } = readEach(WORD, event, event + event, END, DONE)
    assert.equal(text, WORD + event.repeat(3) + END + DONE)
    assert.equal(tap.failure, undefined)
  }
})

test('content events are counted alike, read one by one or passed on together', () => {
  assert.equal(readEach(WORD, WORD, WORD).metered.contentEvents, 3)
  assert.equal(readEach(WORD, WORD + WORD).metered.contentEvents, 3)
  const said = WORD.replace('word', 'data: data: data:')
  assert.equal(readEach(WORD, said + said).metered.contentEvents, 3)
  const returns = (WORD + WORD).replaceAll('\n', '\r')
  assert.equal(readEach(WORD, returns).metered.contentEvents, 3)
})

test('an error event ends the answer, is not shown, and hides what follows', () => {
  const error = 'data: {"error":{"message":"no memory","type":"server_error"}}\n\n'
  for (const events of [[WORD, error, WORD], [WORD + error + WORD], [WORD, error + WORD]]) {
    const { text, tap } = readEach(...events)
    assert.equal(text, WORD)
    assert.match(String(tap.failure?.message), /no memory/)
  }
})

test('bytes after the terminal event are not part of the answer', () => {
  const { text, tap } = readEach(WORD, END, DONE + WORD)
  assert.equal(text, WORD + END + DONE)
  assert.deepEqual([tap.finished, tap.done, tap.doneShown], [true, true, true])
})

for (const broken of [
  '{',
  'null',
  '[]',
  '1',
  '"word"',
  '{"choices":1}',
  '{"choices":[null]}',
  '{"choices":[{"delta":null}]}',
  '{"choices":{}}',
  '{"usage":1}',
  '{"usage":[]}',
  '{"usage":{"prompt_tokens":-1}}',
  '{"usage":{"prompt_tokens":1e999}}',
  '{"choices":[{"delta":1}]}',
]) {
  test(`an event of ${broken} throws nothing and counts as nothing`, () => {
    const event = `data: ${broken}\n\n`
    for (const events of [[event], [WORD, event, END, DONE], [WORD, event + WORD]]) {
      const { tap, metered } = readEach(...events)
      assert.equal(tap.failure, undefined)
      assert.equal(metered.usage, undefined)
    }
    if (!broken.includes('usage'))
      assert.equal(readEach(WORD, event, DONE).text, WORD + event + DONE)
  })
}

test('comments pass on the same wire and are dropped on another', () => {
  const comment = ': waiting\n\n'
  assert.equal(readEach(comment, WORD + comment).text, comment + WORD + comment)
  const translated = [...PROVIDERS.values()].filter(
    (provider) => !chatStream(provider, aRequest(false)).passesComments,
  )
  for (const provider of translated) assert.equal(read([Buffer.from(comment)], provider).text, '')
})
