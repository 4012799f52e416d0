/**
 * The base of every provider that speaks OpenAI's own wire: the differences of a runtime are data.
 */
import type { ChatBody } from '../../inner-form.ts'
import type { Headers, Provider, ProviderSettings } from '../contract.ts'
import type { ProviderFacts } from '../facts-contract.ts'
import { classifyAnswer, type Recogniser } from '../failures/classify.ts'
import { readAnswer } from './answer.ts'
import { decodeAnswer, openReader } from './inner.ts'
import type { Repair } from './repair.ts'
import { encodeBody, WIRE } from './request.ts'
import { SSE } from './sse.ts'
import { openWireReader } from './stream.ts'

export interface OpenAiLike {
  /** The member that bounds a completion when the gateway sets the bound. */
  readonly maxTokens: 'max_tokens' | 'max_completion_tokens'
  /** The other of the two is not understood, or not beside it: a client's value moves. */
  readonly maxTokensOnly?: boolean
  /** The bound sent when nobody gives one, because the runtime's own default cuts answers short. */
  readonly maxTokensDefault?: number
  /** Whether messages may have the role `developer`; else it becomes `system`. */
  readonly developerRole: boolean
  /**
   * Several choices are never given there: asking for them is refused rather than answered with
   * one.
   */
  readonly oneChoice?: boolean
  /** Members without effect there, or refused, or misread. */
  readonly drop?: readonly string[]
  /** The only members understood, where all others are refused. */
  readonly allow?: readonly string[]
  /** Members that must have other values there; `undefined` removes one. */
  readonly rewrite?: (body: ChatBody) => Readonly<Record<string, unknown>>
  /** Finish reasons that are failures. */
  readonly failing?: readonly string[]
  /** Reasoning has another name there than the one most clients read. */
  readonly renamesReasoning?: boolean
  /** Events without choices and usage are noise. */
  readonly dropsEmptyChoices?: boolean
  /** What has to be put right in answers; every event is read then. */
  readonly repair?: Repair
  /** Tried before those of every upstream. */
  readonly recognisers: readonly Recogniser[]
  /** Path and authentication where they are not OpenAI's. */
  readonly path?: (settings: ProviderSettings) => string
  readonly authentication?: (settings: ProviderSettings) => Readonly<Record<string, string>>
}

export function openAiLike(facts: ProviderFacts, options: OpenAiLike): Provider {
  const { recognisers } = options
  const headersOf = headersFor(options.authentication ?? bearer)
  return {
    ...facts,
    framing: SSE,
    operations: {
      chat: {
        encode: (request, settings, maxTokens) => ({
          path: options.path?.(settings) ?? '/chat/completions',
          headers: headersOf(settings)[request.stream ? 'stream' : 'whole'],
          body: encodeBody(request, settings, maxTokens, options),
        }),
        decode: (body, request) => decodeAnswer(body, request, options),
        openStream: (request) => openReader(request, options),
        sameWire: {
          wire: WIRE,
          decode: (body, request) => readAnswer(body, request, options),
          openStream: (request) => openWireReader(request, options),
        },
      },
    },
    classify: (status, headers, body) => classifyAnswer(recognisers, status, headers, body),
  }
}

/** They are the same for every request of an upstream, so they are made once for it. */
function headersFor(authentication: (settings: ProviderSettings) => Headers) {
  const made = new WeakMap<
    ProviderSettings,
    { readonly stream: Headers; readonly whole: Headers }
  >()
  return (settings: ProviderSettings) => {
    const known = made.get(settings)
    if (known !== undefined) return known
    const make = (accept: string): Headers => ({
      'content-type': 'application/json',
      accept,
      // Compressed events would arrive in blocks.
      'accept-encoding': 'identity',
      ...authentication(settings),
    })
    const fresh = { stream: make(SSE.mediaType), whole: make('application/json') }
    made.set(settings, fresh)
    return fresh
  }
}

export function bearer(settings: ProviderSettings): Record<string, string> {
  return settings.credential === '' ? {} : { authorization: `Bearer ${settings.credential}` }
}
