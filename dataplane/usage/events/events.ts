/** Sends usage events to the sinks of one configuration. */
import type { Deadline } from '../../base/clock.ts'
import type { Snapshot } from '../../config/snapshot.ts'
import type { Trace } from '../../telemetry/trace/fields.ts'
import { eventsOf, type UsageEvent } from './event.ts'

export interface Sink extends Deadline {
  readonly isIdle: boolean
  readonly waiting: number
  add(event: UsageEvent): void
  /** Sends now what waits. */
  flush(): void
}

export class UsageEvents {
  readonly #sinks: readonly Sink[]

  constructor(sinks: readonly Sink[]) {
    this.#sinks = sinks
  }

  /** Requests do not wait for it. `endUser`: as events may show it. test/bench/micro/usage-events.ts has its cost. */
  add(trace: Trace, snapshot: Snapshot, endUser?: string): void {
    for (const event of eventsOf(trace, snapshot, endUser))
      for (const sink of this.#sinks) sink.add(event)
  }

  get isIdle(): boolean {
    return this.#sinks.every(({ isIdle }) => isIdle)
  }

  get waiting(): number {
    return this.#sinks.reduce((sum, { waiting }) => sum + waiting, 0)
  }

  flush(): void {
    for (const sink of this.#sinks) sink.flush()
  }
}
