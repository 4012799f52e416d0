/** Which pairs of wires pass an answer unchanged. */
import type { Case } from './model.ts'

/** Whether the client reads the upstream's own events. */
export function passes({
  api,
  provider,
  isNative,
}: Pick<Case, 'api' | 'provider' | 'isNative'>): boolean {
  if (isNative) return true
  if (api === 'messages') return provider === 'anthropic'
  return (
    api === 'chat' &&
    ['vllm', 'sglang', 'llamacpp', 'openai', 'azure_openai', 'deepseek'].includes(provider)
  )
}
