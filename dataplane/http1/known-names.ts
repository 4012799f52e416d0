/** Reads numbers and known names of header lines without making a text for each. */

const LOWER = 0x20
const ZERO = 0x30
/** More digits are no number that a double holds exactly. */
const DIGITS_MAX = 15

/** Finds names in the text of well-formed header lines (`HEADER_LINES`), in any case. */
export class KnownNames<Name extends string> {
  /** By length, because few names have the same. */
  readonly #byLength: (readonly Name[] | undefined)[] = []

  constructor(names: readonly Name[]) {
    for (const name of names) {
      const others = this.#byLength[name.length] ?? []
      this.#byLength[name.length] = [...others, name]
    }
  }

  /** The name between these positions, in lower case; undefined if it is not known. */
  at(lines: string, start: number, end: number): Name | undefined {
    const names = this.#byLength[end - start]
    if (names === undefined) return undefined
    for (const name of names) if (isAt(lines, start, name)) return name
    return undefined
  }
}

/** In a name, the bit of lower case changes letters and no other character to one of `name`. */
function isAt(lines: string, start: number, name: string): boolean {
  for (let index = 0; index < name.length; index++)
    if ((lines.charCodeAt(start + index) | LOWER) !== name.charCodeAt(index)) return false
  return true
}

/** The number that a text of one to fifteen digits is; undefined for another text. */
export function wholeNumber(text: string): number | undefined {
  const { length } = text
  if (length === 0 || length > DIGITS_MAX) return undefined
  let number = 0
  for (let at = 0; at < length; at++) {
    const digit = text.charCodeAt(at) - ZERO
    if (digit < 0 || digit > 9) return undefined
    number = number * 10 + digit
  }
  return number
}
