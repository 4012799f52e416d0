/** Context windows of hosted models that have one published size. Runtimes are asked: they may serve less than a model can. */

import { HOSTED, type ProviderName } from './names.ts'

/** A name as it is, or followed by a date, a version or `latest`. */
const WINDOWS: readonly (readonly [name: string, tokens: number])[] = [
  ['gpt-5', 400_000],
  ['gpt-5-mini', 400_000],
  ['gpt-5-nano', 400_000],
  ['gpt-4.1', 1_047_576],
  ['gpt-4.1-mini', 1_047_576],
  ['gpt-4.1-nano', 1_047_576],
  ['gpt-4o', 128_000],
  ['gpt-4o-mini', 128_000],
  ['gpt-4-turbo', 128_000],
  ['gpt-4', 8_192],
  ['gpt-3.5-turbo', 16_385],
  ['o1', 200_000],
  ['o3', 200_000],
  ['o3-mini', 200_000],
  ['o4-mini', 200_000],
  ['claude-3-haiku', 200_000],
  ['claude-3-opus', 200_000],
  ['claude-3-5-haiku', 200_000],
  ['claude-3-5-sonnet', 200_000],
  ['claude-3-7-sonnet', 200_000],
  ['claude-sonnet-4', 200_000],
  ['claude-opus-4', 200_000],
  ['claude-opus-4-1', 200_000],
  ['claude-sonnet-4-5', 200_000],
  ['claude-haiku-4-5', 200_000],
]

const DATED = /-(latest|\d{4}-\d{2}-\d{2}|\d{8})$/
const HOSTED_NAMES: readonly ProviderName[] = HOSTED
const BY_NAME = new Map(WINDOWS)

/** What is known without asking: what was written, else what the hosted model has. */
export function knownWindow(upstream: {
  readonly provider: ProviderName
  readonly model: string
  readonly context_window?: number | undefined
}): number | undefined {
  const { provider, model, context_window } = upstream
  if (context_window !== undefined || !HOSTED_NAMES.includes(provider)) return context_window
  return BY_NAME.get(model.replace(DATED, ''))
}
