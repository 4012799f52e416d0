/** The last log events that report a change: of states, configurations, keys, budgets. */
import type { Log } from './log.ts'

const KEPT = 50

/** Other events concern single requests, or repeat. */
const NAMES = new Set([
  'breaker',
  'budget_alert',
  'budget_exhausted',
  'config_reload',
  'credential',
  'document_refused',
  'drain',
  'health',
  'jwks',
  'key',
  'keys_reload',
  'rollout',
  'slo',
  'start',
  'store',
  'tokenizer',
  'verify',
])

/** Fields that name what changed, of those that events have; no others are kept. */
const FIELDS = [
  ...['upstream', 'route', 'tenant', 'key', 'issuer', 'group', 'limit', 'window', 'threshold'],
  ...['from', 'to', 'state', 'status', 'result', 'reason', 'hash', 'version', 'type'],
]
const TEXT_MAX = 300

export interface Change {
  /** ISO 8601. */
  readonly time: string
  readonly level: string
  readonly event: string
  readonly message: string
  /** The subject of the change: `upstream`, `tenant`, `from`, `to`, ...; absent if nothing is named. */
  readonly fields?: Readonly<Record<string, string | number | boolean>>
}

export class Changes {
  readonly #wallClock: () => number
  readonly #onChange: (change: Change) => void
  #kept: Change[] = []

  /** `onChange` is called for each change, for a memory that lasts longer. */
  constructor(wallClock: () => number, onChange: (change: Change) => void = () => undefined) {
    this.#wallClock = wallClock
    this.#onChange = onChange
  }

  /** Wraps a log, and keeps its changes. */
  heardIn(log: Log): Log {
    return {
      ...log,
      event: (level, event, message, fields) => {
        if (NAMES.has(event)) this.#add({ level, event, message }, fields)
        log.event(level, event, message, fields)
      },
    }
  }

  newestFirst(): readonly Change[] {
    return this.#kept.toReversed()
  }

  #add(change: Omit<Change, 'time'>, fields: Readonly<Record<string, unknown>> = {}): void {
    const time = new Date(this.#wallClock()).toISOString()
    this.#kept = [...this.#kept.slice(1 - KEPT), { time, ...change }]
    const message = change.message.slice(0, TEXT_MAX)
    const named = namedIn(fields)
    this.#onChange({ time, ...change, message, ...(named && { fields: named }) })
  }
}

function namedIn(fields: Readonly<Record<string, unknown>>): Change['fields'] {
  const named: Record<string, string | number | boolean> = {}
  for (const name of FIELDS) {
    const value = fields[name]
    if (typeof value === 'string') named[name] = value.slice(0, TEXT_MAX)
    else if (typeof value === 'number' || typeof value === 'boolean') named[name] = value
  }
  return Object.keys(named).length > 0 ? named : undefined
}
