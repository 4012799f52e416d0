/** Answers that pass, or that are translated because another API of the upstream sent them. The answer shows which. */
import { KeptText } from '../base/kept-text.ts'
import type { AnswerFacts } from '../wire/answer-facts.ts'
import type { ModelRequest, Sent, Usage } from '../wire/inner-form.ts'
import type { Inspection } from '../wire/inspection.ts'
import type {
  AnswerOrigin,
  Detour,
  Hearer,
  Passed,
  ProviderOperation,
  SameWire,
  WireEvent,
  WireMeaning,
  WireReader,
} from '../wire/provider.ts'

/** The functions of a pair that read answers. */
interface Answers {
  decode(body: Buffer, request: Sent<ModelRequest>, origin: AnswerOrigin): Passed | Inspection
  openStream(
    request: Sent<ModelRequest>,
    origin: AnswerOrigin,
    kept?: KeptText,
  ): WireReader | undefined
}

/** Answers pass as bytes; those of another API of the upstream are translated. */
export function passingOf(
  { decode, openStream }: SameWire,
  translated: Answers,
  { detour }: ProviderOperation,
): Answers {
  if (detour === undefined)
    return {
      decode,
      openStream: (request, _origin, kept = new KeptText()) => openStream?.(request, kept),
    }
  return {
    decode(body, request, origin) {
      const passed = decode(body, request)
      const isOther = passed.kind === 'failure' && detour.isWhole(body)
      return isOther ? translated.decode(body, request, origin) : passed
    },
    openStream(request, origin, kept = new KeptText()) {
      const passing = openStream?.(request, kept)
      if (passing === undefined || !origin.isDetour) return passing
      const other = translated.openStream(request, origin, kept)
      return other && new EitherReader(passing, other, detour)
    },
  }
}

class EitherReader implements WireReader {
  readonly facts: AnswerFacts
  readonly #other: WireReader
  readonly #detour: Detour
  /** The reader, once the first event has arrived. */
  #chosen: WireReader | undefined
  readonly #passing: WireReader

  constructor(passing: WireReader, other: WireReader, detour: Detour) {
    this.#passing = passing
    this.#other = other
    this.#detour = detour
    this.facts = passing.facts
  }

  get passesComments(): boolean {
    return (this.#chosen ?? this.#passing).passesComments
  }

  read(event: WireEvent): WireMeaning {
    this.#chosen ??= this.#detour.isEvent(event) ? this.#other : this.#passing
    const meaning = this.#chosen.read(event)
    if (this.#chosen === this.#other) this.#note(this.#other.facts)
    return meaning
  }

  skim(frames: Buffer, hearer: Hearer): Buffer | undefined {
    return this.#chosen?.skim?.(frames, hearer)
  }

  #note({ id, model, finish_reasons: reasons }: AnswerFacts): void {
    this.facts.begin(id, model)
    for (const [choice, reason] of reasons.entries()) this.facts.end(choice, reason)
  }

  end(usage: Usage | undefined): string {
    return (this.#chosen ?? this.#passing).end(usage)
  }
}
