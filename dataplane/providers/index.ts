/** Every provider there is, by the name a configuration gives it. */
import { anthropic } from './anthropic/provider.ts'
import type { Provider } from './contract.ts'
import { llamacpp } from './llamacpp/provider.ts'
import type { ProviderName } from './names.ts'
import { ollama } from './ollama/provider.ts'
import { openai } from './openai/provider.ts'
import { sglang } from './sglang/provider.ts'
import { tgi } from './tgi/provider.ts'
import { triton } from './triton/provider.ts'
import { vllm } from './vllm/provider.ts'

export const PROVIDERS: Readonly<Partial<Record<ProviderName, Provider>>> = {
  vllm,
  sglang,
  tgi,
  ollama,
  llamacpp,
  triton,
  openai,
  anthropic,
}
