/** Writes the prices of a list into a configuration file. */
import { Scalar } from 'yaml'
import { EditableYaml, textOf } from '../yaml/editable.ts'
import { differencesOf, type JudgedPrice, judge, tiersIn } from './comparison.ts'
import type { ListedPrices, PriceList } from './list.ts'
import { type ConfiguredModel, configuredModels, listedModel, pricingPathOf } from './models.ts'

/** Where prices come from, as the rows state it. */
export interface Origin {
  readonly source: string
  /** The day, such as 2026-11-26. */
  readonly asOf: string
}

export interface Imported extends Omit<JudgedPrice, 'status'> {
  readonly result: 'added' | 'changed' | 'same' | 'not_listed' | 'faulty'
}

type As = Readonly<Record<string, string>>

function modelsIn(document: EditableYaml, as: As): ConfiguredModel[] {
  const models = configuredModels(document.tree, document.path)
  const unknown = Object.keys(as).find((name) => models.every(({ model }) => model !== name))
  if (unknown === undefined) return models
  const names = models.map(({ model }) => model).join(', ')
  throw new Error(`No upstream has the model "${unknown}", which --as names. Models: ${names}.`)
}

export function judgeFile(file: string, list: PriceList | undefined, as: As): JudgedPrice[] {
  const document = new EditableYaml(file, textOf(file))
  return modelsIn(document, as).map((one) => judge(one, list && listedModel(one, list, as)))
}

/** Writes all rows at once. Models without an entry, or with a faulty one, keep what they have. */
export function importPrices(file: string, list: PriceList, origin: Origin, as: As): Imported[] {
  const document = new EditableYaml(file, textOf(file))
  const root = pricingPathOf(document.tree)
  const results = modelsIn(document, as).map((one): Imported => {
    const listed = listedModel(one, list, as)
    const { status, ...judged } = judge(one, listed)
    if (listed === undefined) return { ...judged, result: 'not_listed' }
    if ('fault' in listed.entry) return { ...judged, result: 'faulty' }
    if (one.row === undefined) {
      document.add(root, rowOf(one.model, listed.entry, origin))
      return { ...judged, result: 'added' }
    }
    const { fields } = one.row
    if (status === 'same' && typeof fields.source === 'string' && typeof fields.as_of === 'string')
      return { ...judged, result: 'same' }
    document.set([...root, one.row.index], changesOf(one.row, listed.entry, origin))
    return { ...judged, result: 'changed' }
  })
  document.save()
  return results
}

function rowOf(model: string, { prices, tiers }: ListedPrices, origin: Origin): object {
  const written = tiers.map(({ above, prices: own }) => ({ above_input_tokens: above, ...own }))
  const list = written.length === 0 ? {} : { tiers: written }
  return { model, ...prices, ...list, ...originFields(origin) }
}

/** The members to set; those that stay the same are left out. */
function changesOf(
  { fields }: NonNullable<ConfiguredModel['row']>,
  listed: ListedPrices,
  origin: Origin,
): Record<string, unknown> {
  const changes: Record<string, unknown> = {}
  for (const { field, listed: value } of differencesOf(fields, { ...listed, tiers: [] }))
    changes[field] = value
  if (differencesOf(fields, { prices: {}, tiers: listed.tiers }).length > 0)
    changes.tiers = mergedTiers(fields, listed)
  return { ...changes, ...originFields(origin) }
}

/** Tiers for other lengths, and prices that the list does not have, stay. */
function mergedTiers(fields: Readonly<Record<string, unknown>>, { tiers }: ListedPrices): object[] {
  const own = tiersIn(fields)
  const others = own.filter((tier) => !tiers.some((one) => one.above === tier.above_input_tokens))
  const merged = tiers.map(({ above, prices }) => ({
    above_input_tokens: above,
    ...own.find((tier) => tier.above_input_tokens === above),
    ...prices,
  }))
  return [...others, ...merged]
}

/** The quotes keep a day a text for every reader of YAML. */
function originFields({ source, asOf }: Origin): Record<string, unknown> {
  const day = new Scalar(asOf)
  day.type = 'QUOTE_DOUBLE'
  return { source, as_of: day }
}
