/** The lines of a byte stream, its last lines, and several streams in the order of their times. */
import { type Entry, entryOf } from './entry.ts'

/** A longer line is truncated; no gateway writes one. */
const LINE_LENGTH_MAX = 1_048_576

export async function* linesOf(chunks: AsyncIterable<Uint8Array | string>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of chunks) {
    rest += typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true })
    const lines = rest.split('\n')
    rest = (lines.pop() ?? '').slice(0, LINE_LENGTH_MAX)
    for (const line of lines) if (line.trim() !== '') yield line.trimEnd()
  }
  if (rest.trim() !== '') yield rest.trimEnd()
}

export async function* entriesOf(
  lines: AsyncIterable<string>,
  pod: string | undefined,
): AsyncGenerator<Entry> {
  let before = 0
  for await (const line of lines) {
    const entry = entryOf(line, before, pod)
    before = entry.at
    yield entry
  }
}

/** The last `count` lines, after the stream has ended. */
export async function lastOf<T>(items: AsyncIterable<T>, count: number): Promise<T[]> {
  let kept: T[] = []
  for await (const item of items) {
    kept.push(item)
    if (kept.length > 2 * count) kept = kept.slice(-count)
  }
  return count === 0 ? [] : kept.slice(-count)
}

/** In the order of their times; holds one entry of each stream. */
export async function* inOrder(streams: readonly AsyncGenerator<Entry>[]): AsyncGenerator<Entry> {
  const heads = await Promise.all(streams.map(async (stream) => (await stream.next()).value))
  for (;;) {
    let first: number | undefined
    for (const [index, entry] of heads.entries()) {
      const least = first === undefined ? undefined : heads[first]
      if (entry && (!least || entry.at < least.at)) first = index
    }
    const entry = first === undefined ? undefined : heads[first]
    if (first === undefined || !entry) return
    yield entry
    heads[first] = (await streams[first]?.next())?.value
  }
}
