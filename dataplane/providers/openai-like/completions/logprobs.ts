/** Log probabilities of legacy completions, from a runtime that writes them in the form of chat completions. */
import { StringDecoder } from 'node:string_decoder'
import {
  countOf,
  isRecord,
  type Json,
  listOf,
  parsed,
  recordOf,
  textOf,
} from '../../../json/values.ts'
import type { CompletionsRequest, Sent } from '../../../wire/inner-form.ts'
import { indexOf } from '../members.ts'
import type { CompletionsOptions } from '../options.ts'

/** The position in the text of a choice: an emoji may be several tokens. */
interface TextOffset {
  readonly decoder: StringDecoder
  characters: number
}

const IN_CHAT_SHAPE = '"logprobs":{'

/** For clients that request log probabilities from a runtime with `chatLogprobs`; undefined for all others. */
export function openLogprobs(
  { bytes, spans, choices }: Sent<CompletionsRequest>,
  { chatLogprobs }: Pick<CompletionsOptions, 'chatLogprobs'>,
): Logprobs | undefined {
  const span = chatLogprobs ? spans.get('logprobs') : undefined
  if (span === undefined) return undefined
  const most = countOf(parsed(bytes.toString('utf8', span.start, span.end)))
  return most === undefined ? undefined : new Logprobs(most, choices)
}

export class Logprobs {
  readonly #most: number
  readonly #choices: number
  readonly #places = new Map<number, TextOffset>()

  constructor(most: number, choices: number) {
    this.#most = most
    this.#choices = choices
  }

  /** The JSON text of an event in the form of legacy completions. */
  event(data: string): string {
    if (!data.includes(IN_CHAT_SHAPE)) return data
    const chunk = parsed(data)
    return isRecord(chunk) ? JSON.stringify(this.answer(chunk)) : data
  }

  /** The same for an event or a whole answer. */
  answer(json: Json): Json {
    return {
      ...json,
      choices: listOf(json.choices).map((choice) => this.#choice(recordOf(choice))),
    }
  }

  #choice(choice: Json): Json {
    const { logprobs } = choice
    if (!isRecord(logprobs) || !Array.isArray(logprobs.content)) return choice
    const content = logprobs.content.map(recordOf)
    const place = this.#placeOf(indexOf(choice))
    return {
      ...choice,
      logprobs: {
        tokens: content.map(({ token }) => textOf(token) ?? ''),
        token_logprobs: content.map(({ logprob }) => logprob),
        top_logprobs: content.map((one) => this.#topOf(one)),
        text_offset: content.map((one) => advance(place, one)),
      },
    }
  }

  /** The token itself is in the list too, however unlikely it was. */
  #topOf({ token, logprob, top_logprobs: top }: Json): Json {
    const likely = listOf(top).slice(0, this.#most).map(recordOf)
    const shown = [...likely, { token, logprob }].map((one) => [
      textOf(one.token) ?? '',
      one.logprob,
    ])
    return Object.fromEntries(shown)
  }

  #placeOf(index: number): TextOffset {
    const known = this.#places.get(index) ?? { decoder: new StringDecoder('utf8'), characters: 0 }
    // No position is stored for a choice that the client did not request.
    if (index < this.#choices) this.#places.set(index, known)
    return known
  }
}

/** The position where the token begins, in characters of the choice's text. */
function advance(place: TextOffset, { bytes, token }: Json): number {
  const start = place.characters
  const raw = Array.isArray(bytes)
    ? Buffer.from(bytes.map((byte) => countOf(byte) ?? 0))
    : Buffer.from(textOf(token) ?? '')
  place.characters += [...place.decoder.write(raw)].length
  return start
}
