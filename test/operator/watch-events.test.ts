/** The names in events of the API server: Go escapes `<`, `>` and `&` in them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { jsonOf } from '../../operator/kube/api-objects.ts'
import { readEvents } from '../../operator/kube/watch/watch-events.ts'

const raw = String.raw
const head = raw`"apiVersion":"v1","kind":"ConfigMap"`
const objectWith = (name: string) =>
  raw`{${head},"metadata":{"name":"c","uid":"u"},"data":{"first":"1",${name}:"2"}}`
const taught = raw`"a\\"`
const asked = raw`"a\u003cb\u003e\u0026"`

async function* lines(...texts: readonly string[]): AsyncGenerator<Buffer> {
  for (const text of texts) yield Buffer.from(`${text}\n`)
}

test('a name in an event or an answer is decoded, regardless of what precedes it', async () => {
  for (const name of [raw`"a\\u0"`, raw`"a\\u00"`, taught])
    jsonOf({ body: Buffer.from(objectWith(name)) })
  const read: unknown[] = [jsonOf({ body: Buffer.from(objectWith(asked)) })]
  const events = [raw`{"type":"ADDED","object":${objectWith(asked)}}`]
  for await (const event of readEvents(lines(...events)))
    read.push('object' in event && event.object)
  assert.equal(read.length, 2)
  for (const object of read)
    assert.deepEqual((object as { data: object }).data, { first: '1', 'a<b>&': '2' })
})
