/** Conversations for models with only the Responses API. Answers may be in either API, and are read in both forms. */
import type { KeptText } from '../../../base/kept-text.ts'
import { bodyOf } from '../../../json/unwritten.ts'
import { listOf } from '../../../json/values.ts'
import type { ChatAnswer, ChatEvent, ChatRequest } from '../../../wire/inner-form.ts'
import type {
  Decoded,
  Detour,
  ProviderSettings,
  StreamReader,
  UpstreamRequest,
} from '../../../wire/provider.ts'
import type { ProviderFacts } from '../../../wire/provider-facts.ts'
import type { Asked } from '../../answers/call-ids.ts'
import { effortOf, refusedSampling } from '../../efforts.ts'
import type { Recogniser } from '../../failures/classify.ts'
import { MARK, withoutMarks } from '../../marks.ts'
import { decodeResponse, isResponse } from '../../responses/answer.ts'
import { leftOutOf, responsesRequest } from '../../responses/request.ts'
import { isOfResponse, ResponseReader } from '../../responses/stream.ts'
import type { OpenAiLike } from '../options.ts'
import { takenBy, takesOf } from './conversation.ts'

export const DETOUR: Detour = { isWhole: isResponse, isEvent: isOfResponse }

/** Whether the model accepts this conversation only as a response. */
export function isForResponses({ body }: ChatRequest, { capabilities }: ProviderSettings): boolean {
  const { responses } = capabilities
  if (responses === 'always') return true
  if (responses === undefined || responses === 'never') return false
  if (listOf(body.tools).length === 0) return false
  const effort = effortOf(body, capabilities)
  return effort === undefined ? responses === 'with_tools' : effort !== 'none'
}

export function encodeResponse(
  request: ChatRequest,
  settings: ProviderSettings,
  maxTokens: number | undefined,
  options: OpenAiLike & Pick<ProviderFacts, 'name'>,
): Pick<UpstreamRequest, 'body' | 'leftOut' | 'lost'> {
  const model = options.model?.(settings) ?? settings.model
  const plain = withoutMarks(request.body)
  // In that API results may contain pictures.
  const takes = { ...takesOf(request, settings, options), picturesInResults: true }
  const { messages, lost } = takenBy(plain.messages, takes)
  const upstream = { provider: options.name, model, maxTokens, capabilities: settings.capabilities }
  const sent = responsesRequest(request, { ...plain, messages }, upstream)
  const unseen = plain === request.body ? lost : [...lost, MARK]
  return {
    body: bodyOf(sent, request.bytes),
    leftOut: [...leftOutOf(request.body), ...refusedSampling(request.body, settings.capabilities)],
    ...(unseen.length > 0 && { lost: unseen }),
  }
}

/** The chat answer, or the response if it is one. */
export function decodeAnswerOr(
  read: Decoded<ChatAnswer>,
  body: Buffer,
  request: Asked,
  {
    asksResponses,
    recognisers,
  }: Pick<ProviderFacts, 'asksResponses'> & Pick<OpenAiLike, 'recognisers'>,
): Decoded<ChatAnswer> {
  if (read.kind === 'answer' || !asksResponses || !isResponse(body)) return read
  return decodeResponse(body, request, recognisers)
}

/** The first event shows which API answered. */
export function eitherReader(
  reader: StreamReader<ChatEvent>,
  request: Asked,
  recognisers: readonly Recogniser[],
  kept: KeptText,
): StreamReader<ChatEvent> {
  let chosen: StreamReader<ChatEvent> | undefined
  return {
    read(event) {
      chosen ??= isOfResponse(event) ? new ResponseReader(request, recognisers, kept) : reader
      return chosen.read(event)
    },
  }
}
