/** Replaces parts of bytes, and keeps all other bytes. */
export interface Edit {
  readonly start: number
  readonly end: number
  readonly text: string
}

/** A copy of `bytes` with the edits applied; edits must be in order and must not overlap. */
export function splice(bytes: Buffer, edits: readonly Edit[]): Buffer {
  let length = bytes.length
  for (const { start, end, text } of edits) length += Buffer.byteLength(text) - (end - start)
  const made = Buffer.allocUnsafe(length)
  let at = 0
  let from = 0
  for (const { start, end, text } of edits) {
    at += bytes.copy(made, at, from, start)
    at += made.write(text, at)
    from = end
  }
  bytes.copy(made, at, from)
  return made
}
