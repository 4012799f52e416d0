/** The last log events that report a change: of states, configurations, keys, budgets. */
import type { Log } from './log.ts'

const KEPT = 50

/** Other events concern single requests, or repeat. */
const NAMES = new Set([
  'breaker',
  'budget_alert',
  'config_reload',
  'credential',
  'document_refused',
  'drain',
  'health',
  'jwks',
  'keys_reload',
  'slo',
  'start',
  'store',
  'tokenizer',
])

export interface Change {
  /** ISO 8601. */
  readonly time: string
  readonly level: string
  readonly event: string
  readonly message: string
}

export class Changes {
  readonly #wallClock: () => number
  #kept: Change[] = []

  constructor(wallClock: () => number) {
    this.#wallClock = wallClock
  }

  /** Wraps a log, and keeps its changes. */
  heardIn(log: Log): Log {
    return {
      ...log,
      event: (level, event, message, fields) => {
        if (NAMES.has(event)) this.#add({ level, event, message })
        log.event(level, event, message, fields)
      },
    }
  }

  newestFirst(): readonly Change[] {
    return this.#kept.toReversed()
  }

  #add(change: Omit<Change, 'time'>): void {
    const time = new Date(this.#wallClock()).toISOString()
    this.#kept = [...this.#kept.slice(1 - KEPT), { time, ...change }]
  }
}
