/** The models of a configuration, and the entry of the price list that each has. */
import { listedNames } from '../../dataplane/config/listed-names.ts'
import { isRecord, listBelow, textOf, valueBelow } from '../../dataplane/json/values.ts'
import type { Section } from '../../dataplane/schema/index.ts'
import type { Entry, PriceList } from './list.ts'

/** A row of `pricing`, and its place in the list. */
export interface PriceRow {
  readonly index: number
  readonly fields: Partial<ModelPrice>
}

type ModelPrice = NonNullable<Section['pricing']>['models'][number]

export interface ConfiguredModel {
  readonly model: string
  readonly upstreams: readonly Upstream[]
  readonly row: PriceRow | undefined
}

interface Upstream {
  readonly name: string
  readonly settings: Readonly<Record<string, unknown>>
}

export interface ListedModel {
  readonly name: string
  readonly entry: Entry
}

/** Where prices are in the tree: the bare list, or the list of the object. */
export function pricingPathOf(tree: unknown): readonly string[] {
  return isRecord(valueBelow(tree, 'gw', 'pricing'))
    ? ['gw', 'pricing', 'models']
    : ['gw', 'pricing']
}

/** Throws a sentence if the tree is no configuration. */
export function configuredModels(tree: unknown, file: string): ConfiguredModel[] {
  const upstreams = listBelow(tree, 'gw', 'upstreams').filter(isRecord)
  if (upstreams.length === 0)
    throw new Error(`${file} has no gw.upstreams. Give the configuration with --file.`)
  const rows = listBelow(tree, ...pricingPathOf(tree))
  const byModel = Map.groupBy(upstreams, ({ model }) => textOf(model) ?? '')
  byModel.delete('')
  return [...byModel].map(([model, its]) => {
    const index = rows.findIndex((row) => isRecord(row) && row.model === model)
    const fields = rows[index]
    const row = isRecord(fields) ? { index, fields } : undefined
    return {
      model,
      upstreams: its.map((settings) => ({ name: String(settings.name), settings })),
      row,
    }
  })
}

/** `as`: names of entries by model, as the user gave them. Throws a sentence if the list has no entry of that name. */
export function listedModel(
  { model, upstreams }: ConfiguredModel,
  list: PriceList,
  as: Readonly<Record<string, string>> = {},
): ListedModel | undefined {
  const given = Object.hasOwn(as, model) ? as[model] : undefined
  if (given !== undefined && !list.has(given))
    throw new Error(`The price list has no entry "${given}", which --as gives for "${model}".`)
  const wanted = given === undefined ? upstreams.map((one) => nameIn(list, model, one)) : [given]
  const found = [...new Set(wanted.filter((name) => name !== undefined))].map((name) => ({
    name,
    entry: list.entry(name) ?? { fault: 'the entry is missing' },
  }))
  const [first] = found
  if (first === undefined) return undefined
  const other = found.find(({ entry }) => JSON.stringify(entry) !== JSON.stringify(first.entry))
  if (other === undefined) return first
  const names = `"${first.name}" and "${other.name}"`
  const fault = `its upstreams have different prices, ${names}; choose with --as '${model}=ENTRY'`
  return { name: first.name, entry: { fault } }
}

function nameIn(list: PriceList, model: string, { settings }: Upstream): string | undefined {
  return listedNames(model, settings).find((name) => list.has(name))
}
