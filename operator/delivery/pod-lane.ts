/** Delivers one document to one pod: attempts one after the other until the pod has it. */
import { valueBelow } from '../../dataplane/json/values.ts'
import type { PodProblem } from './pod-reports.ts'

export interface LaneState {
  readonly state: 'pending' | 'acknowledged' | 'rejected' | 'unreachable'
  readonly error?: string
  readonly problems?: readonly PodProblem[]
  /** The pod does not know the operator's key yet, because mounts are updated late. */
  readonly isUntrusted?: boolean
}

export interface LinkTimings {
  readonly deadlineMs: number
  /** Interval of reports from a pod without changes. */
  readonly verifyMs: number
  /** The same for a pod that waits for something. */
  readonly verifyUneasyMs: number
  /** The same for a pod with a shared store, because during an outage with `fail_open: false` it serves no client. */
  readonly verifySharedMs: number
  readonly backoffMs: number
  readonly backoffMsMax: number
}

export const PENDING: LaneState = { state: 'pending' }

interface LaneOptions {
  readonly random: () => number
  readonly timings: Pick<LinkTimings, 'backoffMs' | 'backoffMsMax'>
  attempt(): Promise<LaneState>
  /** Called when the state may have changed. */
  onChange(): void
}

/** Attempts the delivery until the pod has accepted or refused the document. */
export class DocumentLane {
  readonly #options: LaneOptions
  #state: LaneState = PENDING
  #isRunning = false
  #isNew = false
  #isClosed = false
  #failures = 0
  #timer: NodeJS.Timeout | undefined

  constructor(options: LaneOptions) {
    this.#options = options
  }

  get state(): LaneState {
    return this.#state
  }

  /** Starts a delivery now. */
  begin(): void {
    if (this.#isClosed) return
    this.#state = PENDING
    this.#failures = 0
    clearTimeout(this.#timer)
    if (this.#isRunning) this.#isNew = true
    else void this.#run()
  }

  /** Accepts the report of a pod, unless a delivery is running. */
  settle(state: LaneState): void {
    if (this.#isRunning || this.#isClosed) return
    this.#state = state
    this.#plan()
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    const outcome = await this.#options.attempt().catch((error: unknown) => unreachable(error))
    this.#isRunning = false
    if (this.#isClosed) return
    if (this.#isNew) {
      // The document of this attempt has been replaced; but a pod without an answer is still a change of state.
      this.#isNew = false
      const isSilent = outcome.state === 'unreachable'
      if (isSilent) this.#state = outcome
      void this.#run()
      if (isSilent) this.#options.onChange()
      return
    }
    this.#state = outcome
    this.#plan()
    this.#options.onChange()
  }

  #plan(): void {
    clearTimeout(this.#timer)
    const { state } = this.#state
    if (state === 'acknowledged' || state === 'rejected') {
      this.#failures = 0
      return
    }
    const { backoffMs, backoffMsMax } = this.#options.timings
    const delayMs = Math.min(backoffMsMax, backoffMs * 2 ** Math.min(this.#failures, 16))
    this.#failures++
    const jitter = 0.5 + this.#options.random() / 2
    this.#timer = setTimeout(() => void this.#run(), delayMs * jitter)
  }
}

export function unreachable(error: unknown): LaneState {
  const message = error instanceof Error ? error.message : String(error)
  const isLate = error instanceof Error && error.name === 'TimeoutError'
  return { state: 'unreachable', error: isLate ? 'the pod does not answer in time' : message }
}

/** Returns the first problem and the number of problems. */
export function rejected(problems: readonly PodProblem[]): LaneState {
  const [first] = problems
  if (first === undefined)
    return { state: 'rejected', error: 'the pod does not give a reason', problems }
  const { pointer, message, fix } = first
  const more = problems.length > 1 ? ` (and ${problems.length - 1} more)` : ''
  return { state: 'rejected', error: `${pointer} ${message}. ${fix}${more}`.trim(), problems }
}

/** The pod refused the document without a judgement of its content. */
export function refused(status: number, body: unknown): LaneState {
  const message = valueBelow(body, 'message')
  const says = typeof message === 'string' ? `: ${message.slice(0, 500)}` : ''
  const error = `the pod answers ${status}${says}`
  if (status !== 403 || valueBelow(body, 'reason') !== 'untrusted_key') {
    return { state: 'rejected', error }
  }
  const heals = 'This ends without help: the pod trusts this operator after its mounts are updated.'
  return { state: 'rejected', error: `${error.replace(/\.$/, '')}. ${heals}`, isUntrusted: true }
}

/** The pod claims a higher number than any operator can have sent. */
export function unbelievable(have: number, stored: number): LaneState {
  const error =
    `the pod reports sequence ${have}, and ${stored} is stored; the report is ignored. ` +
    'Delete the pod: its successor starts from the stored documents.'
  return { state: 'rejected', error }
}
