/** Splits a text where no token crosses, so that no part takes a tokenizer quadratic time. */

/**
 * Characters. A tokenizer merges the pairs of one word, which takes quadratic time in its length.
 * test/bench/micro/token-slices.ts: 8 kB of one letter take 35 ms as a whole, 9 ms in slices; English takes the same.
 */
const SLICE_LENGTH_MAX = 512
const SPACE = ' '

/** Joined, they are the text. A word is only split if it alone is longer than a slice. */
export function* slicesOf(text: string): Generator<string> {
  let start = 0
  while (text.length - start > SLICE_LENGTH_MAX) {
    const end = cutBefore(text, start, start + SLICE_LENGTH_MAX)
    yield text.slice(start, end)
    start = end
  }
  yield text.slice(start)
}

/** A single space starts the token of the next word, and never ends one. */
function cutBefore(text: string, start: number, end: number): number {
  for (let at = end; at > start; at--) {
    if (text[at] === SPACE && isBlack(text[at - 1]) && isBlack(text[at + 1])) return at
  }
  // A character of two units is not split.
  const last = text.charCodeAt(end - 1)
  return last >= 0xd800 && last < 0xdc00 ? end - 1 : end
}

function isBlack(character: string | undefined): boolean {
  return character !== undefined && /\S/.test(character)
}
