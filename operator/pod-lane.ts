/** One document on its way to one pod: attempts one after the other until it is there, then now and then a look. */
import type { PodProblem } from './pod-reports.ts'

export interface LaneState {
  readonly state: 'pending' | 'acknowledged' | 'rejected' | 'unreachable'
  readonly error?: string
  readonly problems?: readonly PodProblem[]
}

export interface LinkTimings {
  readonly deadlineMs: number
  /** How often a pod is asked what it enforces, though nothing has changed. */
  readonly verifyMs: number
  readonly backoffMs: number
  readonly backoffMsMax: number
}

export const PENDING: LaneState = { state: 'pending' }

interface LaneOptions {
  readonly random: () => number
  readonly timings: LinkTimings
  attempt(isVerification: boolean): Promise<LaneState>
  onChange(): void
}

export class Lane {
  readonly #options: LaneOptions
  #state: LaneState = PENDING
  #isRunning = false
  #isWoken = false
  #isClosed = false
  #failures = 0
  #timer: NodeJS.Timeout | undefined

  constructor(options: LaneOptions) {
    this.#options = options
  }

  get state(): LaneState {
    return this.#state
  }

  /** Something new is to be delivered. */
  begin(): void {
    this.#state = PENDING
    this.#failures = 0
    this.wake()
  }

  wake(): void {
    if (this.#isClosed) return
    clearTimeout(this.#timer)
    if (this.#isRunning) this.#isWoken = true
    else void this.#run(false)
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
  }

  async #run(isVerification: boolean): Promise<void> {
    this.#isRunning = true
    const { attempt, onChange } = this.#options
    const before = this.#state
    const outcome = await attempt(isVerification).catch((error: unknown) => whyNot(error))
    this.#isRunning = false
    if (this.#isClosed) return
    if (this.#isWoken) {
      // What this attempt was about is no longer what is wanted.
      this.#isWoken = false
      void this.#run(false)
      return
    }
    const isFailure = outcome.state === 'unreachable'
    this.#failures = isFailure ? this.#failures + 1 : 0
    // A pod that has acknowledged goes on enforcing; one look that fails says little.
    const isHiccup = isFailure && before.state === 'acknowledged' && this.#failures < 3
    this.#state = isHiccup ? before : outcome
    const verifies = outcome.state === 'acknowledged' || outcome.state === 'rejected'
    this.#timer = setTimeout(() => void this.#run(true), this.#delay(verifies))
    onChange()
  }

  #delay(verifies: boolean): number {
    const { verifyMs, backoffMs, backoffMsMax } = this.#options.timings
    const jitter = 0.5 + this.#options.random() / 2
    if (verifies) return verifyMs * jitter
    return Math.min(backoffMsMax, backoffMs * 2 ** Math.min(this.#failures, 16)) * jitter
  }
}

function whyNot(error: unknown): LaneState {
  const message = error instanceof Error ? error.message : String(error)
  const isLate = error instanceof Error && error.name === 'TimeoutError'
  return { state: 'unreachable', error: isLate ? 'the pod does not answer in time' : message }
}
