/** The figures of one counter as the admin API shows them. */
import { isForEver, type Per } from '../../accounts/period.ts'
import type { BucketFigure, BudgetFigure, Figures } from '../../accounts/store.ts'

export function bucketShown(
  { limit, remaining, resetMs }: BucketFigure,
  capacity: number,
  now: number,
) {
  const resets_at = new Date(now + resetMs).toISOString()
  return { window: 'minute', limit, used: Math.max(0, capacity - remaining), remaining, resets_at }
}

export function slotsShown(concurrency: Figures['concurrency']) {
  return {
    window: 'running',
    ...concurrency,
    remaining: Math.max(0, concurrency.limit - concurrency.used),
    resets_at: null,
  }
}

/** `remaining` is as in the headers: holds are not subtracted, because most of each hold is released. */
export function budgetShown<Shown>(
  window: Per,
  { limit, settled, reserved, resetsAt }: BudgetFigure,
  show: (amount: number) => Shown,
) {
  return {
    window,
    limit: show(limit),
    used: show(settled),
    reserved: show(reserved),
    remaining: show(Math.max(0, limit - settled)),
    resets_at: isForEver(resetsAt) ? null : new Date(resetsAt).toISOString(),
  }
}
