/** Whether a provider sends a parameter to an upstream's model, as it writes a smallest request. */
import { PROVIDERS } from '../../../providers/index.ts'
import { ANY_MODEL } from '../../../schema/constants.ts'
import type { UpstreamSection } from '../../../schema/index.ts'
import type { ChatRequest, CompletionsRequest, ModelRequest } from '../../../wire/inner-form.ts'
import { COMMON } from '../../../wire/models/parameters.ts'
import type { Provider } from '../../../wire/provider.ts'
import { Unsupported } from '../../../wire/unsupported.ts'
import { settingsOf } from '../../upstreams/settings.ts'

const NO_BYTES = Buffer.alloc(0)
/** The wire of no client, so that the request is written from its members. */
const WIRE = 'parameters'

/** An upstream without the operation makes vectors or rankings, which have no such parameters. */
export function isObeyed(upstream: UpstreamSection, name: string, value: unknown): boolean {
  // Every name of the schema has a provider.
  const { operations } = PROVIDERS.get(upstream.provider) as Provider
  const settings = settingsOf({ ...upstream, api_key: undefined }, undefined)
  const { chat, completions } = operations
  const isChat =
    chat !== undefined && isTaken(() => chat.encode(chatWith(name, value), settings, undefined))
  if (isChat) return true
  if (completions === undefined || COMMON[name]?.isOfChats) return false
  return isTaken(() => completions.encode(textWith(name, value), settings, undefined))

  function isTaken(encode: () => { readonly leftOut?: readonly string[] | undefined }): boolean {
    try {
      const { leftOut } = encode()
      // A provider leaves parameters out by model, and the model is not known yet.
      return upstream.model === ANY_MODEL || leftOut?.includes(name) !== true
    } catch (error) {
      if (error instanceof Unsupported) return !error.params.includes(name)
      throw error
    }
  }
}

const FACTS: Omit<ModelRequest, 'operation' | 'body'> = {
  wire: WIRE,
  bytes: NO_BYTES,
  found: undefined,
  spans: new Map(),
  stream: false,
  maxTokens: undefined,
  choices: 1,
  promptTokensMax: 1,
  createdSeconds: 0,
  sparse: true,
}

function chatWith(name: string, value: unknown): ChatRequest {
  const messages = [{ role: 'user', content: 'Hello' }]
  return {
    ...FACTS,
    operation: 'chat',
    body: { model: 'm', messages, [name]: value },
    includeUsage: false,
  }
}

function textWith(name: string, value: unknown): CompletionsRequest {
  return {
    ...FACTS,
    operation: 'completions',
    body: { model: 'm', prompt: 'Hello', [name]: value },
    includeUsage: false,
    prompts: 1,
    generated: 1,
    inputTokens: { sum: 1, longest: 1, longestAt: 0 },
  }
}
