/** Frames of an AWS event stream, 20 in a chunk: read by the gateway's own reader, or by AWS's codec. */
import { EventStreamCodec } from '@smithy/core/event-streams'
import { EVENT_STREAM } from '../../../dataplane/providers/bedrock/aws/frames.ts'
import { compare } from './runner.ts'

const FRAMES = 20
const codec = new EventStreamCodec(
  (bytes) => Buffer.from(bytes as Uint8Array).toString('utf8'),
  (text) => Buffer.from(text),
)
const text = (value: string) => ({ type: 'string', value }) as const
const frame = Buffer.from(
  codec.encode({
    headers: {
      ':event-type': text('contentBlockDelta'),
      ':content-type': text('application/json'),
      ':message-type': text('event'),
    },
    body: Buffer.from('{"contentBlockIndex":0,"delta":{"text":" a token"},"p":"abcdefgh"}'),
  }),
)
const chunk = Buffer.concat(Array(FRAMES).fill(frame))
const read = { length: 0 }

await compare(import.meta.url, 400_000, {
  "the gateway's reader": (times) => {
    const framer = EVENT_STREAM.open()
    for (let index = 0; index < times; index += FRAMES) {
      for (const one of EVENT_STREAM.split(framer.push(chunk) as Buffer))
        read.length += EVENT_STREAM.parse(one)?.data.length ?? 0
    }
  },
  "AWS's codec": (times) => {
    for (let index = 0; index < times; index++) {
      const at = (index % FRAMES) * frame.length
      const { body } = codec.decode(chunk.subarray(at, at + frame.length))
      read.length += Buffer.from(body).toString('utf8').length
    }
  },
})
