/** Names that the configuration takes, made from those of another program. */

/** The nearest name that is valid; undefined if no letter or digit is in it. */
export function validName(text: string): string | undefined {
  const name = text
    .replaceAll(/[^A-Za-z0-9._:/-]+/g, '-')
    .replace(/^[^A-Za-z0-9]+/, '')
    .replace(/-+$/, '')
    .slice(0, 200)
  return name === '' ? undefined : name
}

/** Gives each name once: the second `chat` is `chat-2`. */
export class Names {
  readonly #taken = new Set<string>()

  free(wanted: string): string {
    const base = validName(wanted) ?? 'unnamed'
    let name = base
    for (let count = 2; this.#taken.has(name); count += 1) name = `${base}-${count}`
    this.#taken.add(name)
    return name
  }
}

/** A variable of the environment, such as OPENAI_API_KEY. */
export function variableName(...words: readonly string[]): string {
  const name = words
    .join('_')
    .replaceAll(/[^A-Za-z0-9]+/g, '_')
    .replaceAll(/^_+|_+$/g, '')
    .toUpperCase()
  return /^[A-Z]/.test(name) ? name : `KEY_${name}`
}
