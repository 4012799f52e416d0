/** A client's wire and an upstream's, joined through an inspector: every answer passes through the inner form. */

import type { Deadline, Deadlines } from '../../base/clock.ts'
import { KeptText } from '../../base/kept-text.ts'
import { type CallNames, settledAnswer } from '../../translation/calls.ts'
import { namesOf } from '../../translation/names.ts'
import { carried } from '../../translation/pictures.ts'
import { factsOf, type Source, Translated } from '../../translation/translated.ts'
import { writtenJson } from '../../translation/written.ts'
import type { Dialect, StreamWriter } from '../../wire/dialect.ts'
import type { AnswerEvent, ModelRequest, Sent, Usage } from '../../wire/inner-form.ts'
import type {
  AnyPair,
  ClientReader,
  Inspector,
  Released,
  StreamInspector,
} from '../../wire/inspection.ts'
import type {
  Failure,
  Passed,
  Provider,
  ProviderOperation,
  StreamReader,
  WireEvent,
  WireMeaning,
} from '../../wire/provider.ts'

/** The deadline of an inspector, which is that of its request. */
export interface Allowance {
  readonly deadlines: Deadlines
  /** Monotonic deadline of the request. */
  readonly totalAt: number
}

/** undefined if the provider cannot do the operation. */
export function inspectedPair(
  dialect: Dialect,
  { operations }: Provider,
  inspector: Inspector,
  allowance: Allowance,
): AnyPair | undefined {
  const operation: ProviderOperation | undefined = operations[dialect.operation]
  if (operation === undefined) return undefined
  return {
    decode(body, request, origin) {
      const decoded = carried(operation.decode(body, request, origin), request)
      if (decoded.kind === 'failure') return decoded
      const { usage } = decoded
      const answer = settledAnswer(decoded.answer, namesOf(request))
      const facts = factsOf(answer, { origin, operation })
      const pass = async (): Promise<Passed> => {
        const shown = await within(allowance, inspector.whole(answer))
        if (shown === undefined) return { kind: 'failure', failure: LATE }
        const written = await writtenJson(dialect.writeAnswer(shown, usage, request), body.length)
        return { kind: 'body', body: written, usage, facts }
      }
      const passed = pass()
      // No code waits for it if no client gets the answer, and an unhandled refusal would end the process.
      passed.catch(() => undefined)
      return { kind: 'inspected', usage, passed }
    },
    openStream(request, origin, kept = new KeptText()) {
      const reader = operation.openStream?.(request, origin, kept)
      const writer = dialect.openWriter?.(request, kept)
      if (reader === undefined || writer === undefined) return undefined
      return new Inspected(
        {
          reader,
          writer,
          inspector: inspector.open(kept),
          names: namesOf(request),
          source: { origin, operation },
        },
        request,
        allowance,
      )
    },
  }
}

interface InspectedParts {
  readonly reader: StreamReader<AnswerEvent>
  readonly writer: StreamWriter<AnswerEvent>
  readonly inspector: StreamInspector
  readonly names: CallNames | undefined
  readonly source: Source
}

class Inspected implements ClientReader {
  readonly passesComments = false
  readonly facts: ClientReader['facts']
  readonly #parts: InspectedParts
  readonly #allowance: Allowance
  /** Reads as for a client, and collects the events for the inspector. */
  readonly #upstream: Translated
  #read: AnswerEvent[] = []
  #isFinished = false
  readonly #choices: number
  readonly #ended = new Set<number>()

  constructor(parts: InspectedParts, request: Sent<ModelRequest>, allowance: Allowance) {
    this.#parts = parts
    this.#allowance = allowance
    this.#choices = request.choices
    const { reader, names, source } = parts
    const writer = { write: (one: AnswerEvent) => this.#keep(one), end }
    this.#upstream = new Translated({ reader, writer, names, source }, request)
    this.facts = this.#upstream.facts
  }

  read(event: WireEvent): WireMeaning {
    const meaning = this.#upstream.read(event)
    this.#isFinished ||= meaning.finished || meaning.done
    return meaning
  }

  async release(isComplete: boolean): Promise<Released> {
    if (this.#ended.size >= this.#choices) return NOTHING
    const { inspector, writer } = this.#parts
    const read = this.#read
    this.#read = []
    if (!isComplete && read.length === 0) return NOTHING
    const asked = isComplete ? inspector.end() : inspector.next(read)
    const events = await within(this.#allowance, asked)
    if (events === undefined) return { ...NOTHING, failure: LATE }
    for (const one of events) if (one.kind === 'end') this.#ended.add(one.choice)
    return {
      text: events.map((one) => writer.write(one)).join(''),
      content: events.some(({ kind }) => kind === 'delta'),
      ended: !this.#isFinished && this.#ended.size >= this.#choices,
    }
  }

  end(usage: Usage | undefined): string {
    return this.#parts.writer.end(usage)
  }

  #keep(event: AnswerEvent): string {
    this.#read.push(event)
    return ''
  }
}

function end(): string {
  return ''
}

const NOTHING: Released = { text: '', content: false, ended: false }

const LATE: Failure = {
  class: 'timeout',
  message: 'The answer was not inspected within the request timeout.',
}

/** Resolves with undefined if the deadline of the request comes first. */
async function within<T>({ deadlines, totalAt }: Allowance, work: T | Promise<T>) {
  if (!(work instanceof Promise)) return work
  const { promise, resolve, reject } = Promise.withResolvers<T | undefined>()
  const deadline: Deadline = { due: totalAt, seat: -1, expire: () => resolve(undefined) }
  deadlines.add(deadline)
  work.then(resolve, reject)
  try {
    return await promise
  } finally {
    deadlines.remove(deadline)
  }
}
