/** Events of limits and keys: budgets that are spent, and keys that end. */
import type { Gateway } from '../gateway/gateway.ts'
import { KeyEvents } from '../gateway/key-events.ts'

export function reportEvents(gateway: Gateway): void {
  const { history, deadlines, log } = gateway
  history.onSpent = (tenant, message) => {
    const text = `Requests of tenant "${tenant}" are refused: ${message}`
    log.event('warn', 'budget_exhausted', text, { tenant })
  }
  deadlines.add(new KeyEvents(gateway))
}
