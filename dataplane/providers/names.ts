/** Every provider name a configuration may hold, in canonical spelling. */
export const SELF_HOSTED = ['vllm', 'sglang', 'tgi', 'ollama', 'llamacpp', 'triton'] as const
export const HOSTED = [
  'openai',
  'azure_openai',
  'anthropic',
  'gemini',
  'bedrock',
  'mistral',
  'cohere',
] as const
export const PROVIDER_NAMES = [...SELF_HOSTED, ...HOSTED] as const
export type ProviderName = (typeof PROVIDER_NAMES)[number]
