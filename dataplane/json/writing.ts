/** Writes JSON with texts of megabytes in steps: in one go it would hold up everybody else. */

/** A longer text is written part by part. */
const PART_CHARACTERS = 65_536
/** As much as is written between two steps. */
const STEP_CHARACTERS = 131_072

/** What JSON.stringify writes of a value without methods. Yields where it may be interrupted. */
export function* writing(value: object): Generator<undefined, Buffer> {
  const parts: Buffer[] = []
  let text = ''
  for (const piece of pieces(value)) {
    text += piece
    if (text.length < STEP_CHARACTERS) continue
    parts.push(Buffer.from(text))
    text = ''
    yield
  }
  parts.push(Buffer.from(text))
  return Buffer.concat(parts)
}

/** Whether JSON has a place for it. */
function isWritten(value: unknown): boolean {
  return value !== undefined && typeof value !== 'function' && typeof value !== 'symbol'
}

function* pieces(value: unknown): Generator<string> {
  if (typeof value === 'string') yield* textPieces(value)
  else if (Array.isArray(value)) {
    let before = '['
    for (const one of value) {
      yield before
      yield* pieces(isWritten(one) ? one : null)
      before = ','
    }
    yield before === '[' ? '[]' : ']'
  } else if (typeof value === 'object' && value !== null) {
    let before = '{'
    for (const [name, one] of Object.entries(value)) {
      if (!isWritten(one)) continue
      yield `${before}${JSON.stringify(name)}:`
      yield* pieces(one)
      before = ','
    }
    yield before === '{' ? '{}' : '}'
  } else yield JSON.stringify(value)
}

function* textPieces(text: string): Generator<string> {
  if (text.length <= PART_CHARACTERS) {
    yield JSON.stringify(text)
    return
  }
  yield '"'
  for (let from = 0; from < text.length; ) {
    const to = characterEnd(text, from + PART_CHARACTERS)
    yield JSON.stringify(text.slice(from, to)).slice(1, -1)
    from = to
  }
  yield '"'
}

/** The place itself, or that behind the character which would be cut there. */
function characterEnd(text: string, at: number): number {
  const isInside = isHigh(text.charCodeAt(at - 1)) && at < text.length
  return isInside ? at + 1 : at
}

/** The first half of a character beyond U+FFFF. */
function isHigh(code: number): boolean {
  return (code & 0xfc00) === 0xd800
}
