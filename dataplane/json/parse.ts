/**
 * The one reader of JSON: its values have the names of the text, at every depth.
 *
 * `JSON.parse` of some versions of Node.js gets names wrong (nodejs/node#63785). It takes an escaped name for a name
 * that an earlier text had at the same place, if that equals the raw beginning of the escaped one, up to the length of
 * the resolved name: after `"conten\\"` it reads `"conten\u0074"` as `conten\`. Raw and resolved text differ from the
 * first escape on, so a text without escaped names is read correctly. Only texts with a backslash are searched for such
 * names; test/bench/micro/parse-json.ts shows no cost next to the parse.
 */
import { randomUUID } from 'node:crypto'
import { keepText, mayHaveTexts, withPlainNumbers } from './numbers.ts'
import { COLON, closingQuote, isSpace } from './tokens.ts'

/** Letters that a name in quotes cannot contain unescaped. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON requires escapes for these.
const NEEDS_ESCAPE = /["\\\u0000-\u001f]/
/** Prefix of the placeholders for such names. No sender can guess it. */
const STAND_IN = `${randomUUID()}:`

type Reviver = (name: string, value: unknown) => unknown

/** Throws the SyntaxError of JSON.parse. */
export function parseJson(text: string): unknown {
  return parse(text)
}

/**
 * The same, and the user's numbers keep their text (`numbers.ts`); `isHeld`: the user wrote all of the text, such as
 * the arguments of a call. Throws the SyntaxError of JSON.parse.
 */
export function parseExactly(text: string, isHeld = false): unknown {
  if (!mayHaveTexts(text, isHeld)) return parse(text)
  // TypeScript does not declare the third argument of a reviver yet.
  const value = parse(text, keepText as Reviver)
  return isHeld ? value : withPlainNumbers(value)
}

function parse(text: string, reviver?: Reviver): unknown {
  const value: unknown = JSON.parse(text, reviver)
  return nextEscapedName(text, 0) === undefined ? value : parseWrittenOut(text, reviver)
}

/** The fault of this runtime in a sentence for the log; undefined if it has none. */
export function faultOfRuntime(): string | undefined {
  JSON.parse('{"gw":1,"conten\\\\":1}')
  const read: unknown = JSON.parse('{"gw":1,"conten\\u0074":1}')
  if (typeof read !== 'object' || read === null || 'content' in read) return undefined
  const wrong = `Node.js ${process.versions.node} reads escaped names of JSON wrongly`
  return `${wrong} (nodejs/node#63785); the names in JSON of others are written out before it does.`
}

/** Start, first escape and end of a name with an escape. */
interface EscapedName {
  readonly start: number
  readonly end: number
}

/** In valid JSON only strings have backslashes. Checks each string with a backslash, and no other. */
function nextEscapedName(text: string, from: number): EscapedName | undefined {
  let at = text.indexOf('\\', from)
  while (at !== -1) {
    const end = closingQuote(text, at)
    if (end === -1) return undefined
    let after = end + 1
    while (isSpace(text.charCodeAt(after))) after++
    if (text.charCodeAt(after) === COLON) return { start: text.lastIndexOf('"', at), end }
    at = text.indexOf('\\', after)
  }
  return undefined
}

function parseWrittenOut(text: string, reviver: Reviver | undefined): unknown {
  const standIns = new Map<string, string>()
  const value: unknown = JSON.parse(
    writtenOut(text, ({ name }) => standInOf(name, standIns)),
    reviver,
  )
  if (standIns.size > 0) rename(value, new Map([...standIns].map(([name, its]) => [its, name])))
  return value
}

/**
 * For a library with its own parser: valid JSON with all names resolved. Names with a quote, a backslash or a control
 * character keep their escapes; the runtime can mistake them only for names with a backslash.
 */
export function withPlainNames(text: string): string {
  return writtenOut(text, ({ raw }) => raw)
}

/** `kept`: placeholders for names that need an escape. */
function writtenOut(
  text: string,
  kept: (found: { readonly name: string; readonly raw: string }) => string,
): string {
  const parts: string[] = []
  let from = 0
  for (let found = nextEscapedName(text, 0); found; found = nextEscapedName(text, found.end + 1)) {
    const start = found.start + 1
    const raw = text.slice(start, found.end)
    const name = JSON.parse(`"${raw}"`) as string
    parts.push(text.slice(from, start), NEEDS_ESCAPE.test(name) ? kept({ name, raw }) : name)
    from = found.end
  }
  return parts.length === 0 ? text : parts.join('') + text.slice(from)
}

function standInOf(name: string, standIns: Map<string, string>): string {
  const its = standIns.get(name) ?? `${STAND_IN}${standIns.size}`
  standIns.set(name, its)
  return its
}

/** Restores the names of all objects in the value, each at its position. A stack of calls could overflow. */
function rename(value: unknown, names: ReadonlyMap<string, string>): void {
  const waiting = [value]
  while (waiting.length > 0) {
    const next = waiting.pop()
    if (typeof next !== 'object' || next === null) continue
    const members = Object.entries(next)
    for (const [, below] of members) waiting.push(below)
    if (Array.isArray(next) || !members.some(([name]) => names.has(name))) continue
    for (const [name] of members) Reflect.deleteProperty(next, name)
    for (const [name, below] of members) {
      // An assignment to `__proto__` would set the prototype.
      Object.defineProperty(next, names.get(name) ?? name, {
        value: below,
        writable: true,
        enumerable: true,
        configurable: true,
      })
    }
  }
}
