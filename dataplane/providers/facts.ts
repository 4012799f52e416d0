/** The facts of every provider. Messages that list providers name them in this order. */
import { facts as anthropic } from './anthropic/facts.ts'
import { facts as azure_openai } from './azure_openai/facts.ts'
import { facts as bedrock } from './bedrock/facts.ts'
import { facts as cohere } from './cohere/facts.ts'
import type { ProviderFacts } from './facts-contract.ts'
import { facts as gemini } from './gemini/facts.ts'
import { facts as llamacpp } from './llamacpp/facts.ts'
import { facts as mistral } from './mistral/facts.ts'
import type { ProviderName } from './names.ts'
import { facts as ollama } from './ollama/facts.ts'
import { facts as openai } from './openai/facts.ts'
import { facts as sglang } from './sglang/facts.ts'
import { facts as tgi } from './tgi/facts.ts'
import { facts as triton } from './triton/facts.ts'
import { facts as vllm } from './vllm/facts.ts'

export const PROVIDER_FACTS: Readonly<Record<ProviderName, ProviderFacts>> = {
  openai,
  azure_openai,
  anthropic,
  bedrock,
  gemini,
  mistral,
  cohere,
  vllm,
  sglang,
  tgi,
  ollama,
  llamacpp,
  triton,
}
