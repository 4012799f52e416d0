/** Every provider, by its name in configurations: runtimes first, then hosted APIs. One line each. */

import type { Provider } from '../wire/provider.ts'
import type { ProviderFacts } from '../wire/provider-facts.ts'
import { anthropic } from './anthropic/provider.ts'
import { azure_openai } from './azure_openai/provider.ts'
import { bedrock } from './bedrock/provider.ts'
import { cohere } from './cohere/provider.ts'
import { gemini } from './gemini/provider.ts'
import { llamacpp } from './llamacpp/provider.ts'
import { mistral } from './mistral/provider.ts'
import { ollama } from './ollama/provider.ts'
import { openai } from './openai/provider.ts'
import { sglang } from './sglang/provider.ts'
import { tgi } from './tgi/provider.ts'
import { triton } from './triton/provider.ts'
import { vllm } from './vllm/provider.ts'

const REGISTRY = {
  vllm,
  sglang,
  tgi,
  ollama,
  llamacpp,
  triton,
  openai,
  azure_openai,
  anthropic,
  gemini,
  bedrock,
  mistral,
  cohere,
}

export type ProviderName = keyof typeof REGISTRY

/** The facts about each of them. */
export const PROVIDER_FACTS: Readonly<Record<ProviderName, ProviderFacts>> = REGISTRY

/** In the order of the registry. */
export const PROVIDER_NAMES = Object.keys(REGISTRY) as ProviderName[]

/** Providers that translate; the others have only facts. */
export const PROVIDERS: ReadonlyMap<string, Provider> = new Map(
  Object.values(REGISTRY).flatMap((one) => ('operations' in one ? [[one.name, one]] : [])),
)

/** Replaces a provider that the schema refused, so that the rest of the document can be checked. */
export const STAND_IN_PROVIDER: ProviderName = 'openai'
