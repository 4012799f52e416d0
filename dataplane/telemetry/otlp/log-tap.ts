/** The log of the process; a collector gets the same lines as records. */
import type { Log } from '../log.ts'
import type { Trace } from '../trace/fields.ts'

export type LogEntry =
  | { readonly kind: 'request'; readonly trace: Trace }
  | {
      readonly kind: 'event'
      readonly at: number
      readonly level: 'info' | 'warn' | 'error'
      readonly event: string
      readonly message: string
      readonly fields: Readonly<Record<string, unknown>>
    }

export class LogTap implements Log {
  /** Gets each line; undefined if no collector gets logs. */
  hear: ((entry: LogEntry) => void) | undefined
  readonly #log: Log
  readonly #wallClock: () => number

  constructor(log: Log, wallClock: () => number) {
    this.#log = log
    this.#wallClock = wallClock
  }

  readonly event: Log['event'] = (level, event, message, fields = {}) => {
    this.#log.event(level, event, message, fields)
    this.hear?.({ kind: 'event', at: this.#wallClock(), level, event, message, fields })
  }

  readonly request: Log['request'] = (trace) => {
    this.#log.request(trace)
    this.hear?.({ kind: 'request', trace })
  }

  readonly flush: Log['flush'] = () => this.#log.flush()
}
