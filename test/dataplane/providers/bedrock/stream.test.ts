/** Recorded streams as bytes: clients get the same regardless of cuts, and no damage throws. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bedrock } from '../../../../dataplane/providers/bedrock/provider.ts'
import { Meter } from '../../../../dataplane/tokens/meter.ts'
import { Tap } from '../../../../dataplane/upstream/answer/tap.ts'
import { cases } from '../../../helpers/cases.ts'
import { aRequest, chatStream } from '../../../helpers/providers/a-request.ts'
import { eventFrame, exceptionFrame } from '../../../helpers/providers/fakes/event-stream.ts'
import { readEvents, streamNames } from '../../../helpers/providers/provider-fixtures.ts'
import { aRandom } from '../../../helpers/random.ts'

const STREAMS = streamNames('bedrock').map((name) => ({ name, bytes: bytesOf(name) }))

function bytesOf(name: string): Buffer {
  const frames = readEvents('bedrock', name).map(({ event, data }) => {
    const content = JSON.parse(data)
    return event === 'error' ? exceptionFrame(content.__type, content) : eventFrame(event, content)
  })
  return Buffer.concat(frames)
}

function read(pieces: readonly Buffer[]) {
  const request = aRequest({ stream: true, stream_options: { include_usage: true } })
  const metered = new Meter().begin('up', 'm')
  const tap = new Tap(chatStream(bedrock, request), bedrock.framing, metered)
  const framer = bedrock.framing.open()
  let out = ''
  for (const piece of pieces) {
    const frames = framer.push(piece)
    if (frames !== undefined) out += tap.take(frames)
  }
  const { content, finished, done, failure } = tap
  const { usage, contentEvents } = metered
  const measured = { usage, contentEvents }
  return { out, content, finished, done, failure, ...measured, rest: framer.rest().length }
}

for (const { name, bytes } of STREAMS) {
  test(`${name}: a client gets the same, cut at any place`, () => {
    const whole = read([bytes])
    assert.equal(whole.rest, 0)
    for (let at = 1; at < bytes.length; at++) {
      assert.deepEqual(read([bytes.subarray(0, at), bytes.subarray(at)]), whole, `cut at ${at}`)
    }
    assert.deepEqual(read([...bytes].map((byte) => Buffer.of(byte))), whole)
  })

  test(`${name}: a stream that is cut short is not done`, () => {
    const last = bytes.length - 1
    for (let length = 0; length < last; length += 7) {
      const { done, rest } = read([bytes.subarray(0, length)])
      assert.ok(!done && rest <= length)
    }
  })
}

test('damaged streams throw nothing, and end with a failure or as they would have', () => {
  const random = aRandom(5)
  for (const { bytes } of STREAMS) {
    const whole = read([bytes])
    for (let round = 0; round < cases(100, 10_000); round++) {
      const damaged = Buffer.from(bytes)
      const at = random(bytes.length)
      damaged[at] = (damaged[at] as number) ^ (1 + random(255))
      const seen = read([damaged])
      assert.ok(seen.failure !== undefined || seen.rest > 0 || seen.out === whole.out)
      assert.ok(whole.out.startsWith(seen.out))
    }
  }
})
