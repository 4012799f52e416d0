/** Every provider name a configuration may hold, in canonical spelling: runtimes first, then hosted APIs. */
export const PROVIDER_NAMES = [
  'vllm',
  'sglang',
  'tgi',
  'ollama',
  'llamacpp',
  'triton',
  'openai',
  'azure_openai',
  'anthropic',
  'gemini',
  'bedrock',
  'mistral',
  'cohere',
] as const
export type ProviderName = (typeof PROVIDER_NAMES)[number]

/** Replaces a provider that the schema refused while the rest of the document is checked. */
export const STAND_IN_PROVIDER: ProviderName = 'openai'
