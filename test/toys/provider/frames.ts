/** The toy's framing: the length of a frame in four bytes, big-endian, then its JSON. */
import type { Framing } from '../../../dataplane/wire/provider.ts'

const HEAD_BYTES = 4
const NOTHING = Buffer.alloc(0)

export const FRAMES: Framing = {
  mediaType: 'application/x-toy-frames',
  open() {
    let kept: Buffer = NOTHING
    return {
      push(chunk) {
        const bytes = Buffer.concat([kept, chunk])
        const end = endOfWhole(bytes)
        kept = bytes.subarray(end)
        return end === 0 ? undefined : bytes.subarray(0, end)
      },
      rest: () => kept,
    }
  },
  *split(frames) {
    for (let at = 0; at < frames.length; at = endAt(frames, at)) {
      yield frames.subarray(at, endAt(frames, at))
    }
  },
  parse: (frame) => ({ event: '', data: frame.toString('utf8', HEAD_BYTES) }),
}

function endOfWhole(bytes: Buffer): number {
  let end = 0
  while (end + HEAD_BYTES <= bytes.length && endAt(bytes, end) <= bytes.length) {
    end = endAt(bytes, end)
  }
  return end
}

function endAt(bytes: Buffer, at: number): number {
  return at + HEAD_BYTES + bytes.readUInt32BE(at)
}
