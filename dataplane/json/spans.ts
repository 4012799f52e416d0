/** Where the values of an object's members stand; of members with one name, the last, and beside it the earlier ones. */
import type { Span } from './found.ts'

type Named = [string, Span]

const NONE: readonly Named[] = []

export class Spans extends Map<string, Span> {
  #earlier: Named[] | undefined

  get earlier(): readonly Named[] {
    return this.#earlier ?? NONE
  }

  note(name: string, span: Span): void {
    const before = this.get(name)
    if (before !== undefined) {
      this.#earlier ??= []
      this.#earlier.push([name, before])
    }
    this.set(name, span)
  }
}

export function earlierIn(spans: ReadonlyMap<string, Span>): readonly Named[] {
  return spans instanceof Spans ? spans.earlier : NONE
}
