/** Finish reasons, refusals, tool calls and usage, in whole answers and in stream events. */
import { createHash } from 'node:crypto'
import type { KeptText } from '../../../base/kept-text.ts'
import { countOf, type Json, listOf, recordOf, rowOf, textOf } from '../../../json/values.ts'
import { idIn } from '../../../wire/answer-facts.ts'
import type { FinishReason, Picture, ToolCall, Usage } from '../../../wire/inner-form.ts'
import type { AnswerOrigin, Failure } from '../../../wire/provider.ts'
import { type Asked, CallIds } from '../../answers/call-ids.ts'
import { unfitting, unlikeAsked } from '../../failures/classify.ts'
import { bareName } from '../model-name.ts'
import type { Asker, Signatures } from '../signatures.ts'

const FINISH: Readonly<Record<string, FinishReason>> = {
  STOP: 'stop',
  MAX_TOKENS: 'length',
  CONTINUATION: 'length',
  SAFETY: 'content_filter',
  RECITATION: 'content_filter',
  BLOCKLIST: 'content_filter',
  PROHIBITED_CONTENT: 'content_filter',
  SPII: 'content_filter',
  MODEL_ARMOR: 'content_filter',
  IMAGE_SAFETY: 'content_filter',
  IMAGE_PROHIBITED_CONTENT: 'content_filter',
  IMAGE_RECITATION: 'content_filter',
  IMAGE_OTHER: 'content_filter',
}
/** Malformed answers; a retry may succeed. */
const BROKEN =
  /^(?:MALFORMED_|UNEXPECTED_TOOL_CALL$|TOO_MANY_TOOL_CALLS$|MISSING_THOUGHT_SIGNATURE$)/
const REASON_LENGTH_MAX = 100
/** A form of ids that every wire accepts. */
const ID = /^[a-zA-Z0-9_-]{1,64}$/

/** The answer that the events or the body belong to. */
export interface Answered {
  readonly id: string
  readonly model: string
}

export function answeredBy(event: Json, origin: AnswerOrigin): Answered {
  const id = idIn(event.responseId) ?? origin.id
  return { id: `chatcmpl-${id}`, model: textOf(event.modelVersion) ?? origin.model }
}

export function finishReason(reason: unknown, called: boolean): FinishReason {
  const known = rowOf(FINISH, reason) ?? 'stop'
  return known === 'stop' && called ? 'tool_calls' : known
}

/** The failure for a finish reason, or for a part that no API here supports; undefined if there is neither. */
export function failureIn(candidate: Json): Failure | undefined {
  const text = textOf(candidate.finishReason)
  const media = partsIn(candidate).find(isOtherMedia)
  if (media !== undefined)
    return unfitting(
      'The model answered with media other than pictures, which no API of the gateway supports.',
    )
  if (text === undefined || !BROKEN.test(text)) return undefined
  return unlikeAsked(`The model's answer was broken (${text.slice(0, REASON_LENGTH_MAX)}).`)
}

/** The text of a blocked answer; undefined if the answer was not blocked. */
export function refusalIn({ finishReason: reason, finishMessage: words }: Json) {
  if (rowOf(FINISH, reason) !== 'content_filter') return undefined
  return textOf(words) ?? `The answer was blocked (${String(reason)}).`
}

/** The text about a blocked prompt, which gets no candidates; undefined if the prompt was not blocked. */
export function blockIn({ promptFeedback }: Json): string | undefined {
  const { blockReason: reason, blockReasonMessage: words } = recordOf(promptFeedback)
  const text = textOf(reason)
  if (text === undefined) return undefined
  return textOf(words) ?? `The prompt was blocked (${text.slice(0, REASON_LENGTH_MAX)}).`
}

export function partsIn({ content }: Json): Json[] {
  return listOf(recordOf(content).parts).map(recordOf)
}

function isOtherMedia({ inlineData, fileData, thought }: Json): boolean {
  if (thought === true) return false
  return fileData !== undefined || (inlineData !== undefined && !IMAGE.test(typeOf(inlineData)))
}

const IMAGE = /^image\/[\w.+-]+$/

function typeOf(inlineData: unknown): string {
  return textOf(recordOf(inlineData).mimeType) ?? ''
}

/** Reads the pictures of one answer. */
export class PictureReader {
  readonly #model: string
  readonly #asker: Asker
  readonly #signatures: Signatures

  constructor({ model }: AnswerOrigin, asker: Asker, signatures: Signatures) {
    this.#model = bareName(model)
    this.#asker = asker
    this.#signatures = signatures
  }

  /** undefined also for a draft, which is a thought of the model and costs nothing. */
  read({ inlineData, thought, thoughtSignature }: Json): Picture | undefined {
    const data = textOf(recordOf(inlineData).data)
    if (data === undefined || thought === true || !IMAGE.test(typeOf(inlineData))) return undefined
    const url = `data:${typeOf(inlineData)};base64,${data}`
    const signature = textOf(thoughtSignature)
    if (signature === undefined) return { url }
    const signed = { signature, model: this.#model }
    return { url, extra: this.#signatures.keepOfPicture(this.#asker, url, signed) }
  }
}

/** Reads the calls of one answer. */
export class CallReader {
  readonly #origin: AnswerOrigin
  readonly #asker: Asker
  readonly #signatures: Signatures
  readonly #ids: CallIds

  constructor(origin: AnswerOrigin, asker: Asker & Asked, signatures: Signatures, kept?: KeptText) {
    this.#ids = new CallIds(asker, kept)
    this.#origin = origin
    this.#asker = asker
    this.#signatures = signatures
  }

  /** `place`: the choice, and the index of the call in it. */
  read({ functionCall, thoughtSignature }: Json, answered: Answered, ...place: number[]): ToolCall {
    const { id: own, name: called, args } = recordOf(functionCall)
    const name = textOf(called) ?? ''
    const at = `${answered.id} ${place.join(' ')}`
    const id = this.#ids.of(callId(own, at), at)
    const signature = textOf(thoughtSignature)
    const signed = signature && { signature, model: bareName(this.#origin.model) }
    return {
      id,
      name,
      arguments: JSON.stringify(args ?? {}),
      ...(signed && { extra: this.#signatures.keep(this.#asker, id, name, signed) }),
    }
  }
}

/** Derived from its index if the API gives no id, so that reading the answer again gives the same id. */
function callId(own: unknown, place: string): string {
  const text = textOf(own)
  if (text !== undefined && ID.test(text)) return text
  const hash = createHash('sha256').update(text === undefined ? place : `${place} ${text}`)
  return `call_${hash.digest('hex').slice(0, 24)}`
}

const COUNTS = [
  'promptTokenCount',
  'toolUsePromptTokenCount',
  'candidatesTokenCount',
  'thoughtsTokenCount',
  'cachedContentTokenCount',
] as const

/** The counts in the usage. */
export function countsIn(usage: Json): Json {
  const known = COUNTS.map((name) => [name, countOf(usage[name])] as const)
  return Object.fromEntries(known.filter(([, count]) => count !== undefined))
}

/** The API counts thoughts apart from the answer, and the input of its tools apart from the prompt. */
export function readUsage(usage: unknown): Usage | undefined {
  const counts = recordOf(usage)
  const prompt = countOf(counts.promptTokenCount)
  const answer = countOf(counts.candidatesTokenCount)
  const thoughts = countOf(counts.thoughtsTokenCount)
  if (prompt === undefined && answer === undefined && thoughts === undefined) return undefined
  return {
    promptTokens: (prompt ?? 0) + (countOf(counts.toolUsePromptTokenCount) ?? 0),
    completionTokens: (answer ?? 0) + (thoughts ?? 0),
    cachedTokens: countOf(counts.cachedContentTokenCount) ?? 0,
    reasoningTokens: thoughts ?? 0,
    estimated: false,
  }
}
