/** Single bytes cost at most a fixed multiple of their cost at once. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { Gathered } from '../../../../dataplane/base/gathered.ts'
import { SseFramer } from '../../../../dataplane/providers/openai-like/sse.ts'

type AnyCall = (...given: readonly unknown[]) => unknown

/** Bytes that are copied or searched while `work` runs. */
function bytesTouched(t: TestContext, work: () => void): number {
  let touched = 0
  const counted = (
    object: object,
    name: string,
    count: (self: Buffer, given: readonly unknown[], result: unknown) => number,
  ) => {
    const original = Reflect.get(object, name) as AnyCall
    function counting(this: Buffer, ...given: readonly unknown[]): unknown {
      const result = Reflect.apply(original, this, given)
      touched += count(this, given, result)
      return result
    }
    Reflect.set(object, name, counting)
    t.after(() => Reflect.set(object, name, original))
  }
  counted(Buffer, 'concat', (_, __, joined) => (joined as Buffer).length)
  counted(Buffer.prototype, 'copy', (_, __, copied) => copied as number)
  counted(Buffer.prototype, 'lastIndexOf', (self) => self.length)
  counted(Buffer.prototype, 'includes', (self, [, from]) => self.length - ((from as number) ?? 0))
  work()
  return touched
}

const LENGTH = 40_000

for (const lineEnd of ['\n', '\r\n']) {
  test(`an event in pieces of one byte is read a few times, with ${JSON.stringify(lineEnd)}`, (t) => {
    const event = Buffer.from(`data: ${'x'.repeat(LENGTH)}${lineEnd}${lineEnd}`)
    const framer = new SseFramer()
    const out: Buffer[] = []
    const touched = bytesTouched(t, () => {
      for (const byte of event) {
        const events = framer.push(Buffer.of(byte))
        if (events !== undefined) out.push(events)
      }
    })
    assert.ok(touched < 20 * event.length, `${touched} bytes for ${event.length}`)
    assert.ok(Buffer.concat([...out, framer.rest()]).equals(event))
  })
}

test('later bytes are not written into emitted ones', () => {
  const framer = new SseFramer()
  const seen: [Buffer, string][] = []
  for (const piece of ['data: 1', '\n\ndata: 2', '\n', '\ndata: 3\n\nda', 'ta: 4', '\n\n']) {
    const events = framer.push(Buffer.from(piece))
    if (events !== undefined) seen.push([events, events.toString()])
  }
  assert.deepEqual(
    seen.map(([events]) => events.toString()),
    ['data: 1\n\n', 'data: 2\n\ndata: 3\n\n', 'data: 4\n\n'],
  )
  for (const [events, text] of seen) assert.equal(events.toString(), text)
})

test('a whole answer in pieces of any size is the same bytes, and its small pieces share their objects', () => {
  const bytes = Buffer.from(Array.from({ length: LENGTH }, (_, index) => index % 251))
  for (const sizes of [[1], [1, 4_096], [4_095], [16_384, 1, 2, 3], [LENGTH], [5_000, 100]]) {
    const gathering = new Gathered({ ownsPieces: true })
    for (let at = 0, turn = 0; at < bytes.length; turn++) {
      const size = sizes[turn % sizes.length] ?? 1
      gathering.add(bytes.subarray(at, at + size))
      at += size
      assert.equal(gathering.length, Math.min(at, bytes.length))
    }
    assert.ok(gathering.take().equals(bytes), String(sizes))
    assert.equal(gathering.take().length, 0)
  }
})

test('an answer that comes whole is not copied', () => {
  const gathering = new Gathered({ ownsPieces: true })
  const piece = Buffer.from('short')
  gathering.add(piece)
  assert.equal(gathering.take(), piece)
})
