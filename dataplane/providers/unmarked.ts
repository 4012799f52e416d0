/** Explains why requests to an upstream get no cache marks. */
import { PROVIDER_FACTS, type ProviderName } from './index.ts'

/** undefined if they may get marks. */
export function whyUnmarked(upstream: {
  readonly provider: ProviderName
  readonly model: string
}): string | undefined {
  const { provider, model } = upstream
  const { cacheable } = PROVIDER_FACTS[provider]
  if (cacheable === undefined) return `${provider} has no cache marks`
  return cacheable(model) === undefined ? `${provider} supports none for ${model}` : undefined
}
