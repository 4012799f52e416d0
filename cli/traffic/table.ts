/** Prints the comparison of two gateways' answers. */
import { printLine } from '../printing/output.ts'
import { printTable } from '../printing/tables/table.ts'
import type { AnswerFacts } from './answered.ts'
import type { Compared } from './compare.ts'

export function printCompared(compared: readonly Compared[], isWide: boolean): void {
  const differing = compared.filter(({ differences }) => differences.length > 0)
  const shown = isWide ? compared : differing
  if (shown.length > 0) {
    const rows = shown.map(({ line, path, from, to, differences }) => {
      const texts = differences.map((one) => `${one.field} ${one.from} -> ${one.to}`)
      return [line, path, texts.length === 0 ? 'same' : texts.join('; '), from.ms, to.ms]
    })
    printTable(['LINE', 'PATH', 'DIFFERENCE', 'MS FROM', 'MS TO'], rows, isWide)
  }
  const all = compared.length
  const sums = `${sumOf(compared, 'from')} -> ${sumOf(compared, 'to')}`
  printLine(`${all - differing.length} of ${all} requests are answered alike; tokens ${sums}`)
}

function sumOf(compared: readonly Compared[], side: 'from' | 'to'): number {
  const tokens = ({ input_tokens = 0, output_tokens = 0 }: AnswerFacts) =>
    input_tokens + output_tokens
  return compared.reduce((sum, one) => sum + tokens(one[side]), 0)
}
