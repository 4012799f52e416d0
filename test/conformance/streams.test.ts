/** Streams of every provider as bytes: cut anywhere, changed at random, and without an end. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PROVIDERS } from '../../dataplane/providers/index.ts'
import { Meter } from '../../dataplane/tokens/meter.ts'
import { Tap } from '../../dataplane/upstream/answer/tap.ts'
import type { Provider } from '../../dataplane/wire/provider.ts'
import { cases } from '../helpers/cases.ts'
import { aRequest, chatStream } from '../helpers/providers/a-request.ts'
import { readCases, type StreamCase, streamNames } from '../helpers/providers/provider-fixtures.ts'
import { bytesOfStream, cutAt } from '../helpers/providers/stream-bytes.ts'
import { aRandom } from '../helpers/random.ts'

type Random = (bound: number) => number

/** More than any framing keeps of an event without an end. */
const KEPT_BYTES_MAX = 4_194_304
/** A picture of a model is one event. */
const KEPT_BYTES_MAX_OF: Readonly<Record<string, number>> = { gemini: 33_554_432 }
/** A translated event is at most this many times as long as its source. */
const GROWTH_MAX = 300
const CHANGES_MAX = 6
const PIECES_MAX = 8

for (const [place, provider] of [...PROVIDERS.values()].entries()) {
  testCuts(provider)
  testChanges(provider, place)
  testEndlessEvents(provider)
}

function testCuts(provider: Provider): void {
  test(`${provider.name}: a stream has the same frames, cut at any byte`, () => {
    for (const stream of streamNames(provider.name)) {
      const bytes = bytesOfStream(provider, stream)
      const whole = framesOf(provider, [bytes])
      for (let place = 1; place < bytes.length; place++) {
        const frames = framesOf(provider, cutAt(bytes, [place]))
        assert.equal(frames.length, whole.length, `${stream} at ${place}`)
        for (const [index, frame] of frames.entries()) {
          if (!frame.equals(whole[index]!)) assert.fail(`${stream} at ${place}`)
        }
      }
    }
  })

  test(`${provider.name}: a client reads the same, whether bytes come at once or one by one`, () => {
    for (const stream of streamNames(provider.name)) {
      const bytes = bytesOfStream(provider, stream)
      const { client } = readCases<StreamCase>(provider.name, `chat/${stream}.json`)
      const whole = shown(provider, [bytes], client)
      const single = shown(provider, cutAt(bytes, [...bytes.keys()]), client)
      assert.equal(single.text, whole.text, stream)
    }
  })
}

/** `place` makes the changes of each provider different. */
function testChanges(provider: Provider, place: number): void {
  const count = cases(200, 10_000)
  test(`${provider.name}: ${count} changed streams throw nothing, and grow within bounds`, () => {
    const samples = streamNames(provider.name).map((one) => bytesOfStream(provider, one))
    for (let seed = place * count; seed < (place + 1) * count; seed++) {
      const random = aRandom(seed)
      const bytes = changed(samples, random)
      const places = Array.from({ length: random(PIECES_MAX) }, () => random(bytes.length + 1))
      try {
        const { text, isTranslated } = shown(provider, cutAt(bytes, places))
        assert.ok(text.length <= GROWTH_MAX * (bytes.length + 100), `${text.length} bytes`)
        if (isTranslated) assertEvents(text)
      } catch (error) {
        assert.fail(`seed ${seed}: ${error instanceof Error ? error.stack : error}`)
      }
    }
  })
}

function testEndlessEvents(provider: Provider): void {
  test(`${provider.name}: an event without an end is not kept without a bound`, () => {
    const { framing } = provider
    const most = KEPT_BYTES_MAX_OF[provider.name] ?? KEPT_BYTES_MAX
    for (const byte of ['x', '\0']) {
      const framer = framing.open()
      const chunk = Buffer.alloc(65_536, byte)
      for (let sent = 0; sent < 2 * most; sent += chunk.length) {
        const frames = framer.push(chunk)
        if (frames === undefined) continue
        for (const frame of framing.split(frames)) framing.parse(frame)
      }
      const { length } = framer.rest()
      assert.ok(length <= most, `${length} bytes`)
    }
  })
}

function framesOf({ framing }: Provider, chunks: readonly Buffer[]): Buffer[] {
  const framer = framing.open()
  const runs = chunks.map((chunk) => framer.push(chunk))
  const rest = framer.rest()
  const frames = runs.flatMap((run) => (run === undefined ? [] : [...framing.split(run)]))
  return rest.length === 0 ? frames : [...frames, rest]
}

/** The text for a client of chat completions, as a stream's tap makes it. */
function shown(provider: Provider, chunks: readonly Buffer[], client: object = {}) {
  const { framing, operations } = provider
  const request = aRequest({ ...client, stream: true, stream_options: { include_usage: true } })
  const metered = new Meter().begin('a', 'm')
  const tap = new Tap(chatStream(provider, request), framing, metered)
  const framer = framing.open()
  const out = chunks.flatMap((chunk) => {
    const frames = framer.push(chunk)
    return frames === undefined ? [] : [tap.take(frames)]
  })
  const rest = framer.rest()
  if (rest.length > 0 && framing.closing !== undefined) {
    out.push(tap.take(Buffer.concat([rest, framing.closing])))
  }
  if (tap.finished && tap.failure === undefined) out.push(tap.end())
  const isTranslated = operations.chat?.sameWire === undefined
  return { text: Buffer.concat(out).toString(), isTranslated }
}

function assertEvents(text: string): void {
  for (const event of text.split('\n\n').filter(Boolean)) {
    assert.ok(event.startsWith('data: '), event)
    if (event !== 'data: [DONE]') JSON.parse(event.slice(6))
  }
}

/** Pieces with a meaning in a framing or in JSON. */
const PIECES: readonly string[] = [
  '\n',
  '\r\n',
  '\n\n',
  'data: ',
  'event: error\n',
  'data: [DONE]\n\n',
  ': ',
  '"',
  '\\',
  '{',
  '}',
  '[',
  ']',
  ',',
  ':',
  'null',
  'true',
  '-1',
  '1e999',
  '"__proto__":',
  '"error":{},',
  '\\ud800',
  '\xff',
  '\0',
  '[['.repeat(2_000),
]

const VALUES: readonly string[] = [
  'null',
  'true',
  '-1',
  '0.5',
  '1e999',
  '"x"',
  '""',
  '[]',
  '[null]',
  '{}',
  '{"toString":null}',
  '"constructor"',
]

/** One of the samples, or two in one, with up to six changes. */
function changed(samples: readonly Buffer[], random: Random): Buffer {
  const sample = () => samples[random(samples.length)] ?? Buffer.alloc(0)
  let bytes = random(4) === 0 ? spliced(sample(), sample(), random) : sample()
  for (let left = 1 + random(CHANGES_MAX); left > 0; left--) bytes = changedOnce(bytes, random)
  return bytes
}

function spliced(one: Buffer, other: Buffer, random: Random): Buffer {
  return Buffer.concat([
    one.subarray(0, random(one.length + 1)),
    other.subarray(random(other.length + 1)),
  ])
}

function changedOnce(bytes: Buffer, random: Random): Buffer {
  const at = random(bytes.length + 1)
  const [before, behind] = [bytes.subarray(0, at), bytes.subarray(at)]
  switch (random(7)) {
    case 0:
      return Buffer.concat([before, Buffer.from(PIECES[random(PIECES.length)] ?? ''), behind])
    case 1:
      return Buffer.concat([before, Buffer.of(random(256)), behind.subarray(1)])
    case 2:
      return Buffer.concat([before, behind.subarray(random(200))])
    case 3:
      return Buffer.concat([before, behind.subarray(0, random(400)), behind])
    case 4:
      return valueChanged(bytes, at, random)
    default:
      return random(4) === 0 ? before : bytes
  }
}

/** The value of the next member in JSON becomes another. */
function valueChanged(bytes: Buffer, at: number, random: Random): Buffer {
  const start = bytes.indexOf('":', at) + 2
  const end = bytes.subarray(start).findIndex((byte) => byte === 0x2c || byte === 0x7d)
  if (start < 2 || end === -1) return bytes
  const value = Buffer.from(VALUES[random(VALUES.length)] ?? '')
  return Buffer.concat([bytes.subarray(0, start), value, bytes.subarray(start + end)])
}
