/** A text that a JSON schema for strings accepts, by its format, pattern and length. */

const FORMATS: Readonly<Record<string, string>> = {
  'date-time': '2026-01-31T12:00:00Z',
  date: '2026-01-31',
  time: '12:00:00Z',
  duration: 'P1D',
  email: 'example@example.com',
  hostname: 'example.com',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  uri: 'https://example.com/',
  uuid: '123e4567-e89b-42d3-a456-426614174000',
}

const LENGTH_MAX = 10_000
const PATTERN_LENGTH_MAX = 1000

interface Texts {
  readonly format?: unknown
  readonly pattern?: unknown
  readonly minLength?: unknown
  readonly maxLength?: unknown
}

export function matching({ format, pattern, minLength, maxLength }: Texts): string {
  if (typeof pattern === 'string' && pattern.length <= PATTERN_LENGTH_MAX) {
    const text = sample(pattern)
    if (text !== undefined) return text
  }
  const text = FORMATS[String(format)] ?? 'example'
  const least = typeof minLength === 'number' ? Math.min(minLength, LENGTH_MAX) : 0
  const most = typeof maxLength === 'number' ? maxLength : LENGTH_MAX
  return text.padEnd(least, '-').slice(0, most)
}

/** The shortest text that matches the pattern; undefined if the pattern has unsupported parts. */
function sample(pattern: string): string | undefined {
  try {
    const reader = new PatternReader(pattern)
    const text = reader.alternatives()
    return new RegExp(pattern, 'u').test(text) ? text : undefined
  } catch {
    return undefined
  }
}

const CLASSES: Readonly<Record<string, string>> = { d: '0', w: 'a', s: ' ', D: 'a', W: '-', S: 'a' }
const ANY = 'aA0-_ .@/:'

class PatternReader {
  readonly #pattern: string
  #at = 0

  constructor(pattern: string) {
    this.#pattern = pattern
  }

  /** The first alternative; the others are skipped. */
  alternatives(): string {
    const text = this.#sequence()
    while (this.#take('|')) this.#sequence()
    return text
  }

  #sequence(): string {
    let text = ''
    while (this.#at < this.#pattern.length && !/[|)]/.test(this.#next())) {
      const atom = this.#atom()
      text += atom.repeat(this.#least())
      if (text.length > LENGTH_MAX) throw new RangeError('the text is too long')
    }
    return text
  }

  #atom(): string {
    if (this.#take('^') || this.#take('$')) return ''
    if (this.#take('.')) return 'a'
    if (this.#take('[')) return this.#set()
    if (this.#take('\\')) return this.#escaped()
    if (!this.#take('(')) return this.#character()
    if (this.#take('?') && !this.#take(':')) throw new SyntaxError('it looks around')
    const text = this.alternatives()
    this.#take(')')
    return text
  }

  /** A character that the set accepts, found with the regular expression engine. */
  #set(): string {
    const end = /(?<!\\)\]/g
    end.lastIndex = this.#at
    const close = end.exec(this.#pattern)?.index ?? this.#pattern.length
    const set = new RegExp(`[${this.#pattern.slice(this.#at, close)}]`, 'u')
    this.#at = close + 1
    const visible = Array.from({ length: 95 }, (_, index) => String.fromCharCode(index + 32))
    const found = [...ANY, ...visible].find((one) => set.test(one))
    if (found === undefined) throw new SyntaxError('no visible character is in the set')
    return found
  }

  #escaped(): string {
    const mark = this.#character()
    if (/[bBpPkux1-9]/.test(mark)) throw new SyntaxError(`\\${mark} is not known here`)
    return CLASSES[mark] ?? mark
  }

  #least(): number {
    const [found = '', , count] = /^(?:([*?+])|\{(\d+)(?:,\d*)?\})\??/.exec(this.#rest()) ?? []
    this.#at += found.length
    if (found === '') return 1
    return count === undefined ? Number(found.startsWith('+')) : Number(count)
  }

  #take(mark: string): boolean {
    if (this.#next() !== mark) return false
    this.#at += 1
    return true
  }

  #character(): string {
    const mark = this.#next()
    this.#at += 1
    return mark
  }

  #next(): string {
    return this.#pattern.charAt(this.#at)
  }

  #rest(): string {
    return this.#pattern.slice(this.#at, this.#at + 20)
  }
}
