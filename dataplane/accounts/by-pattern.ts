/** Values by the name of a model: an exact name wins, then the longest pattern in which * stands for any characters. */
import { patternOf } from './further/selectors.ts'

export class ByPattern<V> {
  readonly #exact = new Map<string, V>()
  readonly #patterns: (readonly [fits: (name: string) => boolean, value: V])[]

  constructor(entries: Iterable<readonly [string, V]>) {
    const patterns: (readonly [string, V])[] = []
    for (const [name, value] of entries) {
      if (name.includes('*')) patterns.push([name, value])
      else this.#exact.set(name, value)
    }
    patterns.sort(([one], [other]) => other.length - one.length)
    this.#patterns = patterns.map(([pattern, value]) => [patternOf(pattern), value])
  }

  get(name: string): V | undefined {
    return this.#exact.get(name) ?? this.#patterns.find(([fits]) => fits(name))?.[1]
  }

  has(name: string): boolean {
    return this.get(name) !== undefined
  }
}
