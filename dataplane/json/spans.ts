/** The positions of an object's values; of members with one name, the last, and separately the earlier ones. */
import type { Span } from './found.ts'

export type Spans = Map<string, Span>
type NamedSpan = [string, Span]

const NONE: readonly NamedSpan[] = []
/** Few objects repeat a name. */
const repeated = new WeakMap<ReadonlyMap<string, Span>, NamedSpan[]>()

export function noteSpan(spans: Spans, name: string, span: Span): void {
  const before = spans.get(name)
  if (before !== undefined) {
    const earlier = repeated.get(spans) ?? []
    earlier.push([name, before])
    repeated.set(spans, earlier)
  }
  spans.set(name, span)
}

export function earlierIn(spans: ReadonlyMap<string, Span>): readonly NamedSpan[] {
  return repeated.get(spans) ?? NONE
}
