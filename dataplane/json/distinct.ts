/**
 * Finds a name that an object has twice, even in another case, at any depth, because two readers could read it
 * differently.
 */
import { MembersError, memberName } from './members.ts'
import { folded } from './names.ts'
import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COMMA,
  closingQuoteIn,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
} from './tokens.ts'

/** Bytes to read between two checks of the clock. */
const STEP_BYTES = 65_536

/** An open object or list. */
interface Level {
  /** The object's names in lower case; undefined: it is a list. */
  readonly names: Map<string, string> | undefined
  /** The member or the entry that is being read. */
  at: string | number
  isNameNext: boolean
}

/** `bytes` are valid JSON. Yields where other work may run. Throws MembersError with the path as `nameOf` writes it. */
export function* requireDistinct(
  bytes: Buffer,
  nameOf: (path: readonly (string | number)[]) => string,
): Generator<undefined, void> {
  const levels: Level[] = []
  let level: Level | undefined
  let until = STEP_BYTES
  for (let at = 0; at < bytes.length; at++) {
    if (at > until) {
      until = at + STEP_BYTES
      yield
    }
    switch (bytes[at]) {
      case QUOTE: {
        const end = yield* stringEnd(bytes, at)
        if (level?.names !== undefined && level.isNameNext) {
          level.at = memberName(bytes, at, end)
          level.isNameNext = false
          note(level.names, level.at, () => nameOf(levels.map((one) => one.at)))
        }
        at = end - 1
        break
      }
      case OPEN_BRACE:
        level = { names: new Map(), at: '', isNameNext: true }
        levels.push(level)
        break
      case OPEN_BRACKET:
        level = { names: undefined, at: 0, isNameNext: false }
        levels.push(level)
        break
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        levels.pop()
        level = levels.at(-1)
        break
      case COMMA:
        if (typeof level?.at === 'number') level.at++
        else if (level !== undefined) level.isNameNext = true
    }
  }
}

function note(names: Map<string, string>, name: string, place: () => string): void {
  const meant = folded(name)
  const other = names.get(meant)
  if (other === undefined) {
    names.set(meant, name)
    return
  }
  const param = place()
  const message =
    other === name
      ? `The member "${param}" appears twice; send it once.`
      : `The member "${param}" appears in another case too; send it once.`
  throw new MembersError(message, param)
}

/** After the string that begins here. */
function* stringEnd(bytes: Buffer, start: number): Generator<undefined, number> {
  let quote = closingQuoteIn(bytes, start + 1, start + STEP_BYTES)
  while (quote < 0 && ~quote < bytes.length) {
    yield
    quote = closingQuoteIn(bytes, ~quote, ~quote + STEP_BYTES)
  }
  return quote < 0 ? bytes.length : quote + 1
}
