/** Streams as bytes: the recorded ones, and others that the standard allows. */
import { readdirSync, readFileSync } from 'node:fs'
import {
  parseEvent,
  SseFramer,
  splitEvents,
} from '../../../../dataplane/providers/openai-like/sse.ts'
import type { WireEvent } from '../../../../dataplane/wire/provider.ts'

const RECORDED = new URL('../../../fixtures/providers/', import.meta.url)

export interface Stream {
  readonly name: string
  readonly bytes: Buffer
}

/** Every stream that was recorded of this provider, or of all. */
export function recorded(provider?: string): Stream[] {
  return readdirSync(RECORDED, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.sse') && (!provider || name.startsWith(`${provider}/`)))
    .map((name) => ({ name, bytes: readFileSync(new URL(name, RECORDED)) }))
}

const TEXT = [
  ': a comment',
  '',
  'id: 1',
  'event: greeting',
  'data: {"text":"🦜 é ‱ 𝒳"}',
  '',
  'data:no space',
  'data:  two spaces',
  'data:',
  '',
  'retry: 10',
  '',
  '',
  ': ping',
  'data: [DONE]',
  '',
  '',
].join('\n')

export const WRITTEN: readonly Stream[] = [
  { name: 'LF', bytes: Buffer.from(TEXT) },
  { name: 'CRLF', bytes: Buffer.from(TEXT.replaceAll('\n', '\r\n')) },
  { name: 'CR', bytes: Buffer.from(TEXT.replaceAll('\n', '\r')) },
  {
    name: 'all line ends',
    bytes: Buffer.from('data: a\r\n\ndata: b\n\r\ndata: c\r\r\ndata: d\n\rdata: e\r\n\r\n'),
  },
  { name: 'a byte order mark', bytes: Buffer.from(`\ufeff${TEXT}`) },
  { name: 'no blank line at the end', bytes: Buffer.from(TEXT.trimEnd()) },
  { name: 'no line end at the end', bytes: Buffer.from('data: a\n\ndata: b') },
  { name: 'blank lines only', bytes: Buffer.from('\n\n\r\n\r\n\r\r') },
  { name: 'comments only', bytes: Buffer.from(': a\n\n: b\r\n\r\n:\n\n') },
  {
    name: 'bytes that are no UTF-8',
    bytes: Buffer.from('data: \xff\xfe\xc3\n\ndata: \xf0\x9f\n\n', 'latin1'),
  },
  { name: 'nothing', bytes: Buffer.alloc(0) },
]

export interface Framed {
  readonly bytes: Buffer
  readonly events: readonly WireEvent[]
}

/** The events that the framer makes from these chunks. */
export function frame(chunks: readonly Buffer[]): Framed {
  const framer = new SseFramer()
  const runs = chunks.map((chunk) => framer.push(chunk)).filter((run) => run !== undefined)
  runs.push(framer.rest())
  const events = runs.flatMap((run) => [...splitEvents(run)].map(parseEvent))
  return { bytes: Buffer.concat(runs), events: events.filter((event) => event !== undefined) }
}

/** The standard's own algorithm, line by line; an event without its blank line counts, as it does here. */
export function eventsOf(bytes: Buffer): WireEvent[] {
  const events: WireEvent[] = []
  let event = ''
  let data: string[] = []
  for (const line of [...new TextDecoder().decode(bytes).split(/\r\n|\n|\r/), '']) {
    const [, field = '', value = ''] = /^([^:]*):? ?(.*)$/s.exec(line) ?? []
    if (line !== '') {
      if (field === 'data') data.push(value)
      if (field === 'event') event = value
      continue
    }
    if (data.length > 0) events.push({ event, data: data.join('\n') })
    event = ''
    data = []
  }
  return events
}

export function cut(bytes: Buffer, ...places: readonly number[]): Buffer[] {
  const ends = [...places.toSorted((a, b) => a - b), bytes.length]
  return ends.map((end, index) => bytes.subarray(index === 0 ? 0 : ends[index - 1], end))
}
