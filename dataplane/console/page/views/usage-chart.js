/** Cost over time, stacked by who or what caused it, with the lines of budgets; and its export. */
import { bodies } from '../answers.js'
import { stacked } from '../chart.js'
import { h } from '../element.js'
import { usd } from '../format.js'
import { slotsBetween } from '../ranges.js'
import { joined } from '../usage-rows.js'

const PARTS = 7
const NANO = 1e9

/** By the hour for a day, otherwise by the day; slots without use are empty, and the present one is always there. */
export function costsOverTime(answers, { unit, by, budgets, at }) {
  const [first] = bodies(answers)
  if (first === undefined) return undefined
  const rows = joined(answers, [unit, by])
  const sums = new Map()
  for (const { values, cost_nano_usd } of rows)
    sums.set(values[1], (sums.get(values[1]) ?? 0) + cost_nano_usd)
  const names = [...sums.keys()].toSorted((one, other) => sums.get(other) - sums.get(one))
  const shown = names.slice(0, PARTS)
  const isMore = names.length > PARTS
  const slots = slotsBetween(
    first.from,
    `${[first.to, hourOf(at)].toSorted().at(-1).slice(0, 13)}:00Z`,
    unit,
  )
  const items = slots.map((slot) => {
    const values = [...shown, ...(isMore ? ['more'] : [])].map(() => 0)
    for (const row of rows.filter((one) => one.values[0] === slot)) {
      const index = shown.indexOf(row.values[1])
      values[index === -1 ? PARTS : index] += row.cost_nano_usd / NANO
    }
    return [unit === 'day' ? slot.slice(5) : `${slot.slice(11)}:00`, values]
  })
  const labels = shown.map((name) => (name === '' ? '(none)' : name))
  return h(
    'div',
    { class: 'charts' },
    stacked(
      `Cost by ${unit}, UTC`,
      isMore ? [...labels, `${names.length - PARTS} more`] : labels,
      items,
      usd,
      unit === 'day' ? capLines(budgets, by, shown) : [],
    ),
  )
}

function hourOf(at) {
  return new Date(at).toISOString()
}

/** A budget of a month as the cost of a day that uses it up evenly; of at most three that are shown. */
function capLines(budgets, by, shown) {
  const scope = by === 'tenant' ? 'tenant' : by === 'key' ? 'key' : undefined
  return budgets
    .filter(
      (budget) =>
        budget.scope === scope && shown.includes(budget.holder) && budget.window === 'month',
    )
    .slice(0, 3)
    .map(({ holder, limit, resets_at }) => {
      const end = new Date(resets_at)
      const days = (end - Date.UTC(end.getUTCFullYear(), end.getUTCMonth() - 1, 1)) / 86_400_000
      return { name: `budget of ${holder}, a day`, value: Number(limit) / days }
    })
}

const COLUMNS = [
  'requests',
  'errors',
  'input_tokens',
  'cached_tokens',
  'output_tokens',
  'reasoning_tokens',
  'estimated',
]

/** The rows of a table as CSV, for a spreadsheet. */
export function csvOf(by, rows) {
  const lines = rows.map((row) => [
    cell(row.value),
    ...COLUMNS.map((name) => row[name] ?? 0),
    row.cost_nano_usd / NANO,
  ])
  return `${[[by, ...COLUMNS, 'cost_usd'], ...lines].map((line) => line.join(',')).join('\r\n')}\r\n`
}

/** A text that begins like a formula would be one in a spreadsheet. */
function cell(text) {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

export function exportButton(by, rows, at) {
  const save = () => {
    const url = URL.createObjectURL(new Blob([csvOf(by, rows)], { type: 'text/csv' }))
    const link = document.createElement('a')
    link.href = url
    link.download = `gw-usage-by-${by}-${at.slice(0, 10)}.csv`
    link.click()
    setTimeout(() => URL.revokeObjectURL(url), 10_000)
  }
  return h('button', { type: 'button', onclick: save }, 'Save as CSV')
}
