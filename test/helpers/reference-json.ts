/** Reads valid JSON without the runtime's parser, letter by letter: slow, and correct about names. */

const SHORT: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }

export function readJson(text: string): unknown {
  const reader = new Reader(text)
  return reader.value()
}

class Reader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  value(): unknown {
    const first = this.#next()
    if (first === '{') return this.#object()
    if (first === '[') return this.#list()
    if (first === '"') return this.#string()
    let word = first
    while (/[\w.+-]/.test(this.#text[this.#at] ?? '')) word += this.#text[this.#at++]
    if (word === 'null') return null
    return word === 'true' || (word !== 'false' && Number(word))
  }

  /** The next letter that is not a space; after it. */
  #next(): string {
    while (/\s/.test(this.#text[this.#at] ?? '')) this.#at++
    return this.#text[this.#at++] ?? ''
  }

  #object(): unknown {
    const made = {}
    for (let next = this.#next(); next !== '}'; next = this.#next()) {
      if (next === ',') continue
      const name = this.#string()
      this.#next()
      const value = this.value()
      const facts = { value, enumerable: true, writable: true, configurable: true }
      Object.defineProperty(made, name, facts)
    }
    return made
  }

  #list(): unknown {
    const made: unknown[] = []
    for (let next = this.#next(); next !== ']'; next = this.#next()) {
      if (next === ',') continue
      this.#at--
      made.push(this.value())
    }
    return made
  }

  #string(): string {
    let read = ''
    for (let letter = ''; ; read += letter) {
      letter = this.#text[this.#at++] ?? ''
      if (letter === '"') return read
      if (letter !== '\\') continue
      letter = this.#text[this.#at++] ?? ''
      if (letter === 'u') {
        letter = String.fromCharCode(Number.parseInt(this.#text.slice(this.#at, this.#at + 4), 16))
        this.#at += 4
      } else letter = SHORT[letter] ?? letter
    }
  }
}
