/** The page of results: a row for each system, and what could not be had. */
import { interval } from '../medians.ts'
import { table } from '../report.ts'
import {
  CHECKS,
  type Check,
  FIGURES,
  type Figure,
  NEVER,
  SLOT_SECONDS_MAX,
  type System,
} from './system.ts'
import { ABSENT } from './systems.ts'

export interface Measured extends Pick<System, 'name' | 'cap' | 'lacks' | 'remark'> {
  readonly date: string
  readonly times: number
  readonly values: Readonly<Partial<Record<Figure, readonly number[]>>>
  /** Checks that ended with an error. */
  readonly failed: Readonly<Partial<Record<Check, string>>>
}

const NAMES = Object.keys(FIGURES) as Figure[]

export function rowOf({ name, cap, date, times, values }: Measured): string[] {
  return [name, cap, `${times}, ${date}`, ...NAMES.map((figure) => cell(values[figure] ?? []))]
}

export function page(all: readonly Measured[], machine: readonly string[]): string {
  return [
    '# Governed: the books',
    '',
    'Made by `make bench-governed`: each check several times, the median with the lowest and the highest. The lowest and the',
    'highest of seven contain the median of a longer measurement in 19 of 20 cases. One value: all were equal. A dash: see the',
    'list below.',
    '',
    ...machine.map((line) => `- ${line}`),
    '',
    ...table(['', 'the cap is', 'times', ...NAMES.map((name) => FIGURES[name][0])], all.map(rowOf)),
    '',
    ...NAMES.map((name) => `- **${FIGURES[name][0]}**: ${FIGURES[name][1]}.`),
    '',
    ...all.flatMap(({ name, remark }) =>
      remark === undefined ? [] : [`**${name}**: ${remark}.`, ''],
    ),
    '## What could not be had',
    '',
    ...all.flatMap(lackingOf),
    ...ABSENT.map(([name, reason]) => `- **${name}**: ${reason}.`),
    '',
  ].join('\n')
}

/** A line for each reason. */
function lackingOf({ name, lacks, failed }: Measured): string[] {
  const reasons = new Set([...Object.values(lacks), ...Object.values(failed)])
  const lacking = (reason: string) =>
    CHECKS.filter((check) => lacks[check] === reason || failed[check] === reason)
  return [...reasons].map((reason) => `- **${name}**, ${lacking(reason).join(', ')}: ${reason}.`)
}

function cell(values: readonly number[]): string {
  if (values.length === 0) return '–'
  const { low, middle, high } = interval(values)
  const digits = middle < 10 ? 2 : 0
  const shown = (value: number) =>
    value === NEVER
      ? `> ${SLOT_SECONDS_MAX}`
      : value.toLocaleString('en', { maximumFractionDigits: digits })
  return low === high ? shown(middle) : `${shown(middle)} (${shown(low)}–${shown(high)})`
}
