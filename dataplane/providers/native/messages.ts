/** Anthropic's messages at upstreams with that API: the client's bytes, with only the necessary changes. */
import { isRecord, parsed, parsedBytes } from '../../json/values.ts'
import type { Failure, Headers, NativeWire, ProviderSettings } from '../../wire/provider.ts'
import { passedBody, sameWire } from '../anthropic/passing.ts'
import { malformed, type Recogniser } from '../failures/classify.ts'
import { isNoPath } from './no-path.ts'

type HeadersOf = (settings: ProviderSettings) => {
  readonly stream: Headers
  readonly whole: Headers
}

/** The server is of another kind than configured: it answers every request as a chat completion. */
const OF_CHAT: Failure = {
  ...malformed('The upstream answered with a chat completion instead of a message.'),
  workaround: 'translated',
}

export function messagesOf(
  headersOf: HeadersOf,
  recognisers: readonly Recogniser[],
  own?: readonly string[],
): NativeWire<'chat'> {
  const { openStream, ...passed } = sameWire(recognisers)
  return {
    ...passed,
    api: 'messages',
    encode: (request, settings) => ({
      path: '/messages',
      headers: {
        ...headersOf(settings)[request.stream ? 'stream' : 'whole'],
        ...request.forwarded,
      },
      body: passedBody(request, settings, { own, takesUnsigned: true }),
    }),
    decode(body, request) {
      const answer = passed.decode(body, request)
      return answer.kind === 'failure' && isOfChat(parsedBytes(body))
        ? { kind: 'failure', failure: OF_CHAT }
        : answer
    },
    openStream(request, kept) {
      const reader = openStream(request, kept)
      return {
        ...reader,
        read(event) {
          const meaning = reader.read(event)
          const isOther = event.event === '' && !meaning.content && isOfChat(parsed(event.data))
          return isOther ? { ...meaning, out: '', failure: OF_CHAT } : meaning
        },
      }
    },
    workaround: (failure) => (isNoPath(failure) ? 'translated' : undefined),
  }
}

function isOfChat(answer: unknown): boolean {
  return isRecord(answer) && Array.isArray(answer.choices)
}
