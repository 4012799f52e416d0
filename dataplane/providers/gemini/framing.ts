/** Server-sent events, with errors as plain JSON between them. One event may contain a whole picture. */
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
