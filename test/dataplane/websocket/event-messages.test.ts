/** A stream of events becomes messages, wherever its bytes are cut. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EventMessages, type Messages } from '../../../dataplane/websocket/event-messages.ts'

class Sent implements Messages {
  keptMax = 1000
  readonly messages: string[] = []
  readonly lasts: (string | undefined)[] = []
  pings = 0
  parts = 0
  #text: Buffer[] = []
  #count = 0

  part(bytes: Buffer, isFirst: boolean, isLast: boolean): void {
    assert.equal(isFirst, this.#text.length === 0)
    this.parts++
    this.#text.push(Buffer.from(bytes))
    if (isLast) this.messages.push(Buffer.concat(this.#text.splice(0)).toString())
  }

  ping(): void {
    this.pings++
  }

  membersOfNext(): string {
    return this.#count++ === 0 ? '"first":true,' : ''
  }

  isLastEvent(name: string): boolean {
    return name === 'over'
  }

  ended(data: Buffer | undefined): void {
    this.lasts.push(data?.toString())
  }
}

function sent(pieces: readonly Buffer[], keptMax = 1000): Sent {
  const to = new Sent()
  to.keptMax = keptMax
  const messages = new EventMessages(to)
  for (const piece of pieces) messages.write(piece)
  return to
}

const STREAM = Buffer.from(
  ': keepalive\n\nevent: a\ndata: {"type":"é"}\n\n' +
    ': keepalive\nid: 1\nevent: b\r\ndata:{"two":\r\ndata: "lines"}\r\n\r\n' +
    'data: [DONE]\n\nevent: over\rdata: {"type":"over"}\r\r',
)

test('each event is a message, a comment is a ping, and data other than an object is omitted', () => {
  for (let cut = 0; cut <= STREAM.length; cut++) {
    const { messages, lasts, pings } = sent([STREAM.subarray(0, cut), STREAM.subarray(cut)])
    assert.deepEqual(
      messages,
      ['{"first":true,"type":"é"}', '{"two":\n"lines"}', '{"type":"over"}'],
      `cut at ${cut}`,
    )
    assert.deepEqual(lasts, ['{"type":"over"}'])
    assert.equal(pings, 2)
  }
  const bytes = [...STREAM].map((byte) => Buffer.of(byte))
  assert.equal(sent(bytes).messages.length, 3)
})

test('a whole event is sent in one part, and a long one as it arrives', () => {
  assert.equal(sent([STREAM]).parts, 3)
  const long = sent([Buffer.from(`data: {"a":"${'x'.repeat(500)}`), Buffer.from('y"}\n\n')])
  assert.equal(long.parts, 2)
  assert.match(long.messages[0] ?? '', /^\{"first":true,"a":"x{500}y"\}$/)
})

test('a last event that is too long is noted without its data', () => {
  const event = Buffer.from(`event: over\ndata: {"a":"${'x'.repeat(500)}"}\n\n`)
  assert.deepEqual(sent([event], 100).lasts, [undefined])
  assert.equal(sent([event], 100).messages.length, 1)
})
