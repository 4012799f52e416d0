/** The lines of a watch as events, in order, at the reader's pace. */
import { parseJson } from '../../../dataplane/json/parse.ts'
import { isRecord, valueBelow } from '../../../dataplane/json/values.ts'
import { errorOfStatus } from '../api-error.ts'
import { isKubeObject, type KubeObject } from '../objects.ts'

/** Objects are at most 1.5 MiB in etcd; a longer line is not one. */
const LINE_BYTES_MAX = 16 * 1024 * 1024

export type WatchEvent =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: KubeObject }
  | { readonly type: 'BOOKMARK'; readonly resourceVersion: string }

/** Throws on an ERROR event and on invalid JSON: never skips one. A truncated last line is not an event. */
export async function* readEvents(chunks: AsyncIterable<Buffer>): AsyncGenerator<WatchEvent> {
  for await (const line of readLines(chunks)) {
    const parsed: unknown = parseJson(line)
    const type = valueBelow(parsed, 'type')
    const object = valueBelow(parsed, 'object')
    if (type === 'ERROR') throw errorOfStatus('watch', object)
    if (type === 'BOOKMARK') {
      const resourceVersion = valueBelow(object, 'metadata', 'resourceVersion')
      if (typeof resourceVersion === 'string') yield { type, resourceVersion }
      continue
    }
    const isChange = type === 'ADDED' || type === 'MODIFIED' || type === 'DELETED'
    if (!isChange || !isRecord(object) || !isKubeObject(object)) {
      throw new Error('the watch sent something that is not an event')
    }
    yield { type, object }
  }
}

async function* readLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let parts: Buffer[] = []
  let length = 0
  for await (const chunk of chunks) {
    let from = 0
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, from)) {
      parts.push(chunk.subarray(from, end))
      const line = Buffer.concat(parts).toString().trim()
      parts = []
      length = 0
      from = end + 1
      if (line !== '') yield line
    }
    parts.push(chunk.subarray(from))
    length += chunk.length - from
    if (length > LINE_BYTES_MAX) throw new Error(`an event is longer than ${LINE_BYTES_MAX} bytes`)
  }
}
