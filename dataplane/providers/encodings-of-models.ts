/** The encodings of hosted models whose makers published them, by the beginnings of the models' names. */
import type { Encoding } from '../wire/encodings.ts'
import { PROVIDER_FACTS, type ProviderName } from './index.ts'

/** The longest beginning first: `gpt-4o` is not `gpt-4`. The models of all makers, for one API may serve those of another. */
const BY_MODEL = Object.values(PROVIDER_FACTS)
  .flatMap(({ modelEncodings = {} }) => Object.entries(modelEncodings))
  .sort(([one], [other]) => other.length - one.length)

/** undefined for runtimes: their models bring their own tokenizers. */
export function encodingOfModel(upstream: {
  readonly provider: ProviderName
  readonly model: string
}): Encoding | undefined {
  const { hosted, modelName } = PROVIDER_FACTS[upstream.provider]
  if (!hosted) return undefined
  const name = modelName?.(upstream.model) ?? upstream.model
  return BY_MODEL.find(([beginning]) => isModel(name, beginning))?.[1]
}

/** A name goes on behind its beginning with a version, a size or a date. */
function isModel(name: string, beginning: string): boolean {
  return name.startsWith(beginning) && /^(?:$|[-.:@])/.test(name.slice(beginning.length))
}
