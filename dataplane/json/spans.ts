/** Where the values of an object's members stand; of members with one name, the last, and beside it the earlier ones. */
import type { Span } from './found.ts'

type NamedSpan = [string, Span]

const NONE: readonly NamedSpan[] = []

export class Spans extends Map<string, Span> {
  #earlier: NamedSpan[] | undefined

  get earlier(): readonly NamedSpan[] {
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

export function earlierIn(spans: ReadonlyMap<string, Span>): readonly NamedSpan[] {
  return spans instanceof Spans ? spans.earlier : NONE
}
