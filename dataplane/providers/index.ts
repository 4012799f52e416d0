/** Every provider, by its name in configurations: runtimes first, then hosted APIs. One line each. */

import { createRequire } from 'node:module'
import { extname } from 'node:path'
import type { Provider } from '../wire/provider.ts'
import type { ProviderFacts } from '../wire/provider-facts.ts'
import { facts as anthropic } from './anthropic/facts.ts'
import { facts as azure_openai } from './azure_openai/facts.ts'
import { facts as bedrock } from './bedrock/facts.ts'
import { facts as cohere } from './cohere/facts.ts'
import { facts as gemini } from './gemini/facts.ts'
import { facts as llamacpp } from './llamacpp/facts.ts'
import { facts as mistral } from './mistral/facts.ts'
import { facts as ollama } from './ollama/facts.ts'
import { facts as openai } from './openai/facts.ts'
import { facts as sglang } from './sglang/facts.ts'
import { facts as tgi } from './tgi/facts.ts'
import { facts as triton } from './triton/facts.ts'
import { facts as vllm } from './vllm/facts.ts'

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

/** A provider's translation loads when it is first asked for, so that a process has only the configured ones. */
class Providers extends Map<string, Provider> {
  override get(name: string): Provider | undefined {
    const loaded = super.get(name)
    if (loaded !== undefined || !Object.hasOwn(REGISTRY, name)) return loaded
    const program = `./${name}/provider${extname(import.meta.filename)}`
    const { [name]: provider } = load(program) as Readonly<Record<string, Provider>>
    if (provider !== undefined) this.set(name, provider)
    return provider
  }

  override keys(): MapIterator<string> {
    return PROVIDER_NAMES.values()
  }

  override *entries(): MapIterator<[string, Provider]> {
    for (const name of PROVIDER_NAMES) {
      const provider = this.get(name)
      if (provider !== undefined) yield [name, provider]
    }
  }

  override *values(): MapIterator<Provider> {
    for (const [, provider] of this.entries()) yield provider
  }

  override [Symbol.iterator](): MapIterator<[string, Provider]> {
    return this.entries()
  }
}

const load = createRequire(import.meta.url)

/** Providers by their name. */
export const PROVIDERS: ReadonlyMap<string, Provider> = new Providers()

/** Replaces a provider that the schema refused, so that the rest of the document can be checked. */
export const STAND_IN_PROVIDER: ProviderName = 'openai'
