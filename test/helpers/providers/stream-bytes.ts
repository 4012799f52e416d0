/** The recorded streams of providers as the bytes of their framings. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import type { Provider, WireEvent } from '../../../dataplane/wire/provider.ts'
import { frameOf } from './fakes/event-stream.ts'
import { readEvents } from './provider-fixtures.ts'

/** How an event is written in a framing other than that of the files, by media type. */
const WRITERS: Readonly<Record<string, (event: WireEvent) => Uint8Array>> = {
  'application/x-ndjson': ({ data }) => Buffer.from(`${data}\n`),
  'application/vnd.amazon.eventstream': ({ event, data }) => {
    const headers = { ':event-type': event, ':message-type': 'event' }
    return frameOf({ ...headers, ':content-type': 'application/json' }, Buffer.from(data))
  },
}

export function bytesOfStream({ name, framing }: Provider, stream: string): Buffer {
  if (framing.mediaType === 'text/event-stream') {
    const file = new URL(`../../fixtures/providers/${name}/chat/${stream}.sse`, import.meta.url)
    return readFileSync(file)
  }
  const write = WRITERS[framing.mediaType]
  assert.ok(write, `stream-bytes.ts needs a writer of ${framing.mediaType}`)
  return Buffer.concat(readEvents(name, stream).map(write))
}

/** The bytes in pieces that end at these places. */
export function cutAt(bytes: Buffer, places: readonly number[]): Buffer[] {
  const ends = [...places.toSorted((one, other) => one - other), bytes.length]
  return ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end))
}
