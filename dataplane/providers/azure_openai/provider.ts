/** Azure OpenAI: OpenAI's wire at other addresses, with verdicts on content. */
import type { Headers, Provider, ProviderSettings } from '../../wire/provider.ts'
import type { Recogniser } from '../failures/classify.ts'
import { bearer, openAiLike } from '../openai-like/provider.ts'
import { deploymentOf, isDated, pathOf } from './address.ts'
import { facts } from './facts.ts'
import { entraIdentity } from './identity.ts'

const RECOGNISERS: readonly Recogniser[] = [
  { class: 'context', status: [400], says: /maximum context length is/ },
  // The deployed model is of another kind.
  { class: 'missing', status: [400], code: 'OperationNotSupported' },
]

/** Earlier dated versions refuse members that this version introduced. */
const EXTENDED = '2024-09-01'

export const azure_openai: Provider = {
  ...openAiLike(facts, {
    maxTokens: 'max_completion_tokens',
    takes: { developerRole: true },
    isStrict: true,
    sendsVerdicts: true,
    variant: {
      isFor: isEarly,
      options: {
        maxTokens: 'max_tokens',
        maxTokensOnly: true,
        takes: {},
        usageUnasked: true,
      },
    },
    model: deploymentOf,
    path: pathOf,
    authentication,
    recognisers: RECOGNISERS,
    responses: { seals: true, keeps: true },
    completions: {},
    embeddings: { takesTokens: true },
    transcription: {},
  }),
  // A configured key is sent unchanged.
  openCredentials: ({ credential }, env) => (credential === '' ? entraIdentity(env) : undefined),
}

function isEarly(settings: ProviderSettings): boolean {
  return isDated(settings) && (settings.apiVersion ?? '') < EXTENDED
}

function authentication(settings: ProviderSettings): Headers {
  if (settings.isFetched === true) return bearer(settings)
  return settings.credential === '' ? {} : { 'api-key': settings.credential }
}
