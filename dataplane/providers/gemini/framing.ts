/** Server-sent events, among which an error may stand as plain JSON. */
import type { Framing } from '../../wire/provider.ts'
import { SSE } from '../openai-like/sse.ts'

export const FRAMES: Framing = {
  ...SSE,
  parse: (frame) => SSE.parse(frame) ?? plainJson(frame),
}

function plainJson(frame: Buffer) {
  const text = frame.toString('utf8').trim()
  return /^[[{]/.test(text) ? { event: '', data: text } : undefined
}
