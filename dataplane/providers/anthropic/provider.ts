/** Anthropic's Messages API. */

import { bodyOf } from '../../json/unwritten.ts'
import type { ChatRequest } from '../../wire/inner-form.ts'
import type { Provider, ProviderSettings, UpstreamRequest } from '../../wire/provider.ts'
import { classifyAnswer, type Recogniser } from '../failures/classify.ts'
import { hasMarks } from '../marks.ts'
import { SSE } from '../openai-like/sse.ts'
import { readMessage } from './answer.ts'
import { autoMarks } from './auto-marks.ts'
import { facts } from './facts.ts'
import { withWorkaround } from './lessons.ts'
import { changedThinking } from './passed-thinking.ts'
import { passedBody, sameWire, WIRE } from './passing.ts'
import { leftOutOf, messagesRequest } from './request.ts'
import { openMessageStream } from './stream.ts'

/** Later versions refuse more members. */
const API_VERSION = '2023-06-01'

const RECOGNISERS: readonly Recogniser[] = [
  { class: 'quota', code: 'enforced_spend_limit_reached' },
  { class: 'quota', type: 'billing_error' },
  { class: 'quota', status: [400], says: /credit balance is too low/ },
  { class: 'context', status: [400], says: /^prompt is too long|exceed context limit/ },
  // A conflict is temporary, so it is not the client's mistake.
  { class: 'server', status: [409] },
]

export const anthropic: Provider = {
  ...facts,
  framing: SSE,
  operations: {
    chat: {
      encode(request, settings, maxTokens) {
        const { forwarded } = request
        const own = settings.apiVersion ?? API_VERSION
        const version = forwarded?.['anthropic-version'] ?? own
        return {
          path: '/messages',
          headers: {
            'content-type': 'application/json',
            accept: request.stream ? SSE.mediaType : 'application/json',
            // Compressed events would be delayed and arrive together.
            'accept-encoding': 'identity',
            ...forwarded,
            'anthropic-version': version,
            ...(settings.credential !== '' && { 'x-api-key': settings.credential }),
          },
          ...(request.wire === WIRE
            ? passed(request, settings)
            : translatedBody(request, settings, version, maxTokens)),
        }
      },
      decode: (body, request, origin) => readMessage(body, request, origin, RECOGNISERS),
      openStream: (request, origin, kept) => openMessageStream(origin, RECOGNISERS, request, kept),
      sameWire: sameWire(RECOGNISERS),
    },
  },
  classify: (status, headers, body) =>
    withWorkaround(classifyAnswer(RECOGNISERS, status, headers, body)),
}

/**
 * The client's bytes, without the members that the model refuses, and with changed ones where it needs other values.
 */
function passed(
  request: ChatRequest,
  settings: ProviderSettings,
): Pick<UpstreamRequest, 'body' | 'leftOut'> {
  const { edits, leftOut } = changedThinking(request, settings.capabilities)
  return { body: passedBody(request, settings, { edits }), leftOut }
}

function translatedBody(
  request: ChatRequest,
  settings: ProviderSettings,
  version: string,
  maxTokens: number | undefined,
): Pick<UpstreamRequest, 'body' | 'leftOut'> {
  const written = messagesRequest(request, settings, version, maxTokens)
  const isMarked = request.isAutoMarked && !hasMarks(request)
  const message = isMarked ? { ...written, ...autoMarks(written, settings.model) } : written
  return { body: bodyOf(message, request.bytes), leftOut: leftOutOf(request.body, message) }
}
