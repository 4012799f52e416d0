/** The names of an upstream's model in the public price list. */
import { recordOf, textOf } from '../json/values.ts'
import { PROVIDER_FACTS, PROVIDER_NAMES } from '../providers/index.ts'

/**
 * The best name first. A runtime of yours may serve a model under any name, so it has no name of a hosted model.
 * `settings` come from a file that may not be valid.
 */
export function listedNames(
  model: string,
  settings: Readonly<Record<string, unknown>>,
): readonly string[] {
  const { provider, region, project } = recordOf(settings)
  const name = PROVIDER_NAMES.find((one) => one === provider)
  const place = { region: textOf(region), project: textOf(project) }
  return (name && PROVIDER_FACTS[name].listedAs?.(model, place)) ?? []
}
