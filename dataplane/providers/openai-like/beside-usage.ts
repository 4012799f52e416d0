/**
 * Keeps members beside the usage of a stream for clients that did not ask for usage. They move to the event before,
 * where the runtime sends them to clients that ask for no usage.
 */
import { parsed, recordOf } from '../../json/values.ts'
import type { WireEvent, WireMeaning, WireReader } from '../../wire/provider.ts'

/** `names`: members of the usage event. */
export function keepingBesideUsage(reader: WireReader, names: readonly string[]): WireReader {
  /** The JSON of the event with the finish reason, until the next event arrives. */
  let held: string | undefined
  const flush = (more: object = {}) => {
    if (held === undefined) return ''
    const text = Object.keys(more).length === 0 ? held : JSON.stringify({ ...read(held), ...more })
    held = undefined
    return written(text)
  }
  return {
    ...reader,
    read(event) {
      const meaning = reader.read(event)
      if (meaning.finished && !meaning.done && meaning.usage === undefined) {
        const before = flush()
        held = jsonOf(meaning, event)
        return { ...meaning, out: before }
      }
      if (held === undefined || meaning.failure !== undefined) return meaning
      if (meaning.out === '') return { ...meaning, out: flush(pick(read(event.data), names)) }
      // `end` then writes the end.
      const own = meaning.out === 'same' && meaning.done ? '' : written(jsonOf(meaning, event))
      return { ...meaning, out: flush() + own }
    },
    end: (usage) => flush() + reader.end(usage),
  }
}

function written(json: string): string {
  return json === '' ? '' : `data: ${json}\n\n`
}

/** A reader writes at most one event for each that it reads. */
function jsonOf({ out }: WireMeaning, { data }: WireEvent): string {
  return out === 'same' ? data : out.slice('data: '.length).trimEnd()
}

function read(json: string): Readonly<Record<string, unknown>> {
  return recordOf(parsed(json))
}

function pick(chunk: Readonly<Record<string, unknown>>, names: readonly string[]): object {
  return Object.fromEntries(Object.entries(chunk).filter(([name]) => names.includes(name)))
}
