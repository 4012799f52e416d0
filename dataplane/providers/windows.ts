/** Context windows that are known without asking. Runtimes are asked: they may serve less than a model can. */
import { PROVIDER_FACTS, type ProviderName } from './index.ts'

const DATED = /-(latest|\d{4}-\d{2}-\d{2}|\d{8})$/
/** The models of all makers together: one hosted API may serve those of another. */
const BY_MODEL = new Map(
  Object.values(PROVIDER_FACTS).flatMap(({ modelWindows = {} }) => Object.entries(modelWindows)),
)

/** The configured window, else that of the hosted model: by its name, or the name before a date or `latest`. */
export function knownWindow(upstream: {
  readonly provider: ProviderName
  readonly model: string
  readonly context_window?: number | undefined
}): number | undefined {
  const { provider, model, context_window } = upstream
  const { hosted, modelName } = PROVIDER_FACTS[provider]
  if (context_window !== undefined || !hosted) return context_window
  const name = modelName?.(model) ?? model
  return BY_MODEL.get(name.replace(DATED, ''))
}
