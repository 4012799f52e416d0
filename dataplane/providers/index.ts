/** Every provider there is, by the name a configuration gives it. */
import { anthropic } from './anthropic.ts'
import type { Provider } from './contract.ts'
import { llamacpp } from './llamacpp.ts'
import type { ProviderName } from './names.ts'
import { ollama } from './ollama.ts'
import { openai } from './openai.ts'
import { sglang } from './sglang.ts'
import { tgi } from './tgi.ts'
import { triton } from './triton.ts'
import { vllm } from './vllm.ts'

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
