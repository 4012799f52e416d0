/** Reads Gemini's whole answers. */

import { isRecord, type Json, listOf, parsedBytes, recordOf, textOf } from '../../../json/values.ts'
import type { ChatAnswer, ChatChoice, ChatRequest, Sent } from '../../../wire/inner-form.ts'
import type { AnswerOrigin, Decoded } from '../../../wire/provider.ts'
import { isError } from '../../failures/bodies.ts'
import { classifyError, malformed, type Recogniser } from '../../failures/classify.ts'
import type { Signatures } from '../signatures.ts'
import {
  answeredBy,
  blockIn,
  CallReader,
  failureIn,
  finishReason,
  PictureReader,
  partsIn,
  readUsage,
  refusalIn,
} from './candidates.ts'
import { logprobsIn } from './logprobs.ts'

/** The parts of the provider that are necessary to read an answer. */
export interface AnswerReaders {
  readonly recognisers: readonly Recogniser[]
  readonly signatures: Signatures
}

export function readAnswer(
  body: Buffer,
  request: Sent<ChatRequest>,
  origin: AnswerOrigin,
  { recognisers, signatures }: AnswerReaders,
): Decoded<ChatAnswer> {
  const answer = parsedBytes(body)
  if (isErrorBody(answer)) {
    return { kind: 'failure', failure: classifyError(recognisers, answer) }
  }
  const event = recordOf(answer)
  const candidates = listOf(event.candidates).map(recordOf)
  const failure = candidates.map(failureIn).find((one) => one !== undefined)
  if (failure !== undefined) return { kind: 'failure', failure }
  const answered = answeredBy(event, origin)
  const calls = new CallReader(origin, request, signatures)
  const pictures = new PictureReader(origin, request, signatures)
  const choices = candidates.map((candidate, index) =>
    choiceOf(candidate, request, pictures, (part, number) =>
      calls.read(part, answered, index, number),
    ),
  )
  const block = blockIn(event)
  if (choices.length === 0 && block !== undefined) {
    const blocked = { text: '', refusal: block, calls: [], finish: 'content_filter' } as const
    choices.push(...Array.from({ length: request.choices }, () => blocked))
  }
  if (choices.length === 0) {
    const failure = malformed('The upstream answered without candidates.')
    return { kind: 'failure', failure }
  }
  return {
    kind: 'answer',
    answer: { ...answered, choices },
    usage: readUsage(event.usageMetadata),
  }
}

/** Some addresses of the API return an error inside a list. */
export function isErrorBody(value: unknown): boolean {
  const body = Array.isArray(value) ? value[0] : value
  return isRecord(body) && isError(body)
}

function choiceOf(
  candidate: Json,
  { oneCall }: Sent<ChatRequest>,
  reader: PictureReader,
  callOf: (part: Json, number: number) => ChatChoice['calls'][number],
): ChatChoice {
  const parts = partsIn(candidate)
  const said = (isThought: boolean) =>
    parts
      .map(({ text, thought }) => ((thought === true) === isThought ? textOf(text) : ''))
      .join('')
  const called = parts.filter(({ functionCall }) => isRecord(functionCall))
  const calls = (oneCall ? called.slice(0, 1) : called).map(callOf)
  const pictures = parts.flatMap((part) => reader.read(part) ?? [])
  const [text, reasoning] = [said(false), said(true)]
  const refusal = text === '' ? refusalIn(candidate) : undefined
  return {
    text,
    ...(reasoning !== '' && { reasoning }),
    ...(refusal !== undefined && { refusal }),
    ...(pictures.length > 0 && { pictures }),
    calls,
    finish: finishReason(candidate.finishReason, calls.length > 0),
    ...logprobsIn(candidate),
  }
}
