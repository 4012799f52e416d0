/** Prints the results of the pricing commands as a table. */
import { printTable } from '../printing/tables/table.ts'
import type { JudgedPrice, PriceDifference } from './comparison.ts'
import type { Imported } from './import.ts'

const WORDS: Readonly<Record<JudgedPrice['status'] | Imported['result'], string>> = {
  added: 'added',
  changed: 'changed',
  same: 'same',
  differs: 'differs',
  no_price: 'no price',
  not_listed: 'not in the list',
  faulty: 'faulty entry',
}

export function printJudged(models: readonly (JudgedPrice | Imported)[], isWide: boolean): void {
  const rows = models.map((one) => {
    const state = 'status' in one ? one.status : one.result
    const row = [one.model, WORDS[state], one.as_of, one.entry, detailOf(one)]
    return isWide ? [...row, one.source, one.upstreams.join(',')] : row
  })
  const head = [
    'MODEL',
    'PRICE',
    'AS OF',
    'ENTRY',
    'DETAIL',
    ...(isWide ? ['SOURCE', 'UPSTREAMS'] : []),
  ]
  printTable(head, rows, isWide)
}

function detailOf({ differences = [], fault }: JudgedPrice | Imported): string | undefined {
  const texts = fault === undefined ? differences.map(differenceText) : [fault]
  return texts.length === 0 ? undefined : texts.join('; ')
}

function differenceText({ field, configured, listed }: PriceDifference): string {
  return configured === undefined ? `${field} ${listed}` : `${field} ${configured} -> ${listed}`
}
