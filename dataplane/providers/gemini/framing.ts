/** Server-sent events, among which an error may stand as plain JSON. One of them holds a whole picture. */
import { ANSWER_BYTES_MAX } from '../../base/kept-text.ts'
import type { Framing } from '../../wire/provider.ts'
import { unreadable } from '../answers/faults.ts'
import { SSE, SseFramer } from '../openai-like/sse.ts'

export const FRAMES: Framing = {
  ...SSE,
  open: () => new SseFramer(ANSWER_BYTES_MAX),
  parse: (frame) => SSE.parse(frame) ?? plainJson(frame),
}

export const BROKEN = unreadable(ANSWER_BYTES_MAX / 1_048_576)

function plainJson(frame: Buffer) {
  const text = frame.toString('utf8').trim()
  return /^[[{]/.test(text) ? { event: '', data: text } : undefined
}
