/** Writes an object as JSON, and notes where the values of its members are: so they need not be searched for. */
import type { Span } from './found.ts'

/** An object in writing. */
export interface WrittenObject {
  readonly bytes: Buffer
  readonly spans: ReadonlyMap<string, Span>
}

export function writtenObject(value: object): WrittenObject {
  const spans = new Map<string, Span>()
  const parts: string[] = []
  let at = 1
  for (const [name, member] of Object.entries(value)) {
    const text: string | undefined = JSON.stringify(member)
    if (text === undefined) continue
    const head = `${spans.size === 0 ? '' : ','}${JSON.stringify(name)}:`
    const start = at + Buffer.byteLength(head)
    at = start + Buffer.byteLength(text)
    parts.push(head, text)
    spans.set(name, { start, end: at })
  }
  return { bytes: Buffer.from(`{${parts.join('')}}`), spans }
}
