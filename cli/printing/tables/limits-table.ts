/** The state of a tenant's limits, from the admin API and as a table. */
import { z } from 'zod'
import { relativeTime } from '../ages.ts'
import { moneyText, numberText } from './money.ts'
import { printTable } from './table.ts'

const Amount = z.union([z.number(), z.string()])

const Figure = z.looseObject({
  window: z.string(),
  limit: Amount.optional(),
  burst: z.number().optional(),
  used: Amount,
  reserved: Amount.optional(),
  remaining: Amount.optional(),
  resets_at: z.string().nullable(),
})

/** A gateway may be newer than the tool, so unknown limits are shown, too. */
export const TenantLimits = z.object({ tenant: z.string() }).catchall(Figure)
export type TenantLimits = z.output<typeof TenantLimits>

export const Unknown = z.object({ error: z.object({ message: z.string() }) })

const HEAD = ['LIMIT', 'WINDOW', 'MAX', 'USED', 'RESERVED', 'REMAINING', 'RESETS']

/** A full bucket has no reset to wait for. */
function resetText(resetsAt: string | null): string | undefined {
  const isOver = resetsAt !== null && Date.parse(resetsAt) <= Date.now()
  return isOver ? 'now' : relativeTime(resetsAt)
}

/** The gateway sends some amounts of money as exact texts. */
function amountsOf(limit: string) {
  const isMoney = limit.includes('_usd')
  return (amount: number | string | undefined) => {
    const value = typeof amount === 'string' && isMoney ? Number(amount) : amount
    if (typeof value !== 'number' || Number.isNaN(value)) return amount
    return isMoney ? moneyText(value) : numberText(value)
  }
}

export function printStanding({ tenant: _, ...figures }: TenantLimits, isWide = false): void {
  const rows = Object.entries(figures).map(([name, figure]) => {
    const { window, limit, burst, used, reserved, remaining, resets_at } = Figure.parse(figure)
    const shown = amountsOf(name)
    const most = burst === undefined ? shown(limit) : `${shown(limit)}, ${shown(burst)} at once`
    const amounts = [most, shown(used), shown(reserved), shown(remaining)]
    return [name, window, ...amounts, resetText(resets_at)]
  })
  printTable(HEAD, rows, isWide, ['RESERVED', 'WINDOW'])
}
