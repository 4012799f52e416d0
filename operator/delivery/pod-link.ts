/** One pod: its desired documents, its report, and the deliveries. Keys never wait for a configuration. */

import { valueBelow } from '../../dataplane/json/values.ts'
import type { ApiResponse } from '../kube/transport.ts'
import type { TraceContext } from '../tracing/tracer.ts'
import type { SentDocument } from './bundle.ts'
import {
  DocumentLane,
  type LaneState,
  PENDING,
  refused,
  rejected,
  unbelievable,
  unreachable,
} from './pod-lane.ts'
import { lookAgainMs } from './pod-pace.ts'
import {
  type PodLinkOptions,
  type PodRequest,
  type PushedPart,
  pushesOf,
  type Wanted,
} from './pod-pushes.ts'
import {
  hasKeys,
  jsonOf,
  number,
  type PodReport,
  type ReportedKeys,
  readKeys,
  readProblems,
  readReport,
  reportAfter,
} from './pod-reports.ts'
import { isBelievable } from './sequences.ts'

export class PodLink {
  readonly #options: PodLinkOptions
  readonly #origin: string
  readonly #closing = new AbortController()
  readonly #lanes: Readonly<Record<PushedPart, DocumentLane>>
  /** The reconciles that first sent the documents. */
  readonly #traces: Partial<Record<PushedPart, TraceContext | undefined>> = {}
  #wanted: Wanted = { configuration: undefined, keys: undefined }
  #report: PodReport | undefined
  #asking: Promise<PodReport> | undefined
  /** The highest sequences that this pod has seen of documents other than the desired ones. */
  readonly #floors: Record<PushedPart, number> = { configuration: 0, keys: 0 }
  #timer: NodeJS.Timeout | undefined
  #isClosed = false
  #silences = 0
  #reported = ''

  constructor(origin: string, options: PodLinkOptions) {
    this.#options = options
    this.#origin = origin
    const lane = (part: PushedPart) =>
      new DocumentLane({
        random: options.random,
        timings: options.timings,
        attempt: () => this.#attempt(part),
        onChange: () => this.#tell(),
      })
    this.#lanes = { configuration: lane('configuration'), keys: lane('keys') }
    this.#planLook()
  }

  want(wanted: Wanted): void {
    const before = this.#wanted
    this.#wanted = wanted
    for (const part of ['keys', 'configuration'] as const) {
      const isNew = before[part]?.documentHash !== wanted[part]?.documentHash
      if (!isNew || wanted[part] === undefined) continue
      this.#traces[part] = wanted.trace
      this.#lanes[part].begin()
    }
  }

  get report(): PodReport | undefined {
    return this.#report
  }

  /** Whether the last report may be of an earlier container, or a later one has failed. */
  get isSilent(): boolean {
    return this.#silences > 0
  }

  /** The pod is ready again, perhaps with another container. */
  doubt(): void {
    this.#silences ||= 1
  }

  laneOf(part: PushedPart): LaneState {
    return this.#lanes[part].state
  }

  floorOf(part: PushedPart): number {
    return this.#floors[part]
  }

  /** Reads the pod's report, which reveals lost pushes and makes failover an ordinary case. */
  async verify(): Promise<void> {
    clearTimeout(this.#timer)
    try {
      const report = await this.#ask()
      this.#silences = 0
      for (const part of ['keys', 'configuration'] as const) this.#compare(part, report)
    } catch (error) {
      this.#silences++
      for (const part of ['keys', 'configuration'] as const) {
        const isWanted = this.#wanted[part] !== undefined
        if (isWanted && this.#silences >= SILENCES_MAX) {
          this.#lanes[part].settle(unreachable(error))
        }
      }
    }
    this.#planLook()
    this.#tell()
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
    this.#closing.abort()
    for (const lane of Object.values(this.#lanes)) lane.close()
  }

  #planLook(): void {
    if (this.#isClosed) return
    clearTimeout(this.#timer)
    const isRefused = this.#lanes.configuration.state.state === 'rejected'
    const dueMs = lookAgainMs(this.#report, isRefused, this.#options)
    const delayMs = dueMs * (0.75 + this.#options.random() / 2)
    this.#timer = setTimeout(() => void this.verify(), delayMs)
  }

  #compare(part: PushedPart, report: PodReport): void {
    const wanted = this.#wanted[part]
    const lane = this.#lanes[part]
    if (wanted === undefined || this.#isClosed) return
    const refused = part === 'configuration' ? report.configuration.refused : undefined
    const { state } = lane.state
    if (this.#has(part, report, wanted)) {
      lane.settle({ state: 'acknowledged' })
    } else if (refused?.documentHash === wanted.documentHash) {
      lane.settle(rejected(refused.problems))
    } else if (state === 'acknowledged' || state === 'rejected') {
      // Pending and unreachable documents are already being sent.
      lane.begin()
    }
  }

  /** Reports only changes, because most reports repeat the last one. */
  #tell(): void {
    const { configuration, keys } = this.#lanes
    const says = JSON.stringify([
      this.#report,
      this.isSilent,
      configuration.state,
      keys.state,
      this.#floors,
    ])
    if (says === this.#reported || this.#isClosed) return
    this.#reported = says
    this.#planLook()
    this.#options.onChange()
  }

  async #attempt(part: PushedPart): Promise<LaneState> {
    const report = this.#report ?? (await this.#ask())
    const wanted = this.#wanted[part]
    if (wanted === undefined) return PENDING
    if (this.#has(part, report, wanted)) return { state: 'acknowledged' }
    return await this.#push(part, wanted)
  }

  #has(part: PushedPart, report: PodReport, wanted: SentDocument): boolean {
    this.#raiseFloor(part, report, wanted)
    if (part === 'keys') {
      return report.keys.sequence === wanted.sequence && this.#saysKeys(report.keys)
    }
    const { hash, documentHash } = report.configuration
    // The same content under another sequence is pushed too: the stored document must be the newest.
    return hash === wanted.hash && documentHash === wanted.documentHash
  }

  #raiseFloor(part: PushedPart, report: PodReport, wanted: SentDocument): void {
    if (part === 'keys') {
      const { sequence } = report.keys
      const isOther =
        sequence > wanted.sequence || (sequence === wanted.sequence && !this.#saysKeys(report.keys))
      if (isOther) this.#raise(part, sequence, wanted)
      return
    }
    const { newestSequence, documentHash, refused } = report.configuration
    const isOurs = [documentHash, refused?.documentHash].includes(wanted.documentHash)
    const isOther =
      newestSequence > wanted.sequence || (newestSequence === wanted.sequence && !isOurs)
    if (isOther) this.#raise(part, newestSequence, wanted)
  }

  #saysKeys(reported: ReportedKeys): boolean {
    const { keys } = this.#wanted
    return keys !== undefined && hasKeys(reported, keys)
  }

  #raise(part: PushedPart, seen: number, wanted: SentDocument): void {
    if (isBelievable(seen, wanted.sequence)) this.#floors[part] = seen
  }

  /** Both lanes wait for one request. */
  #ask(): Promise<PodReport> {
    this.#asking ??= this.#fetchReport().finally(() => {
      this.#asking = undefined
    })
    return this.#asking
  }

  async #fetchReport(): Promise<PodReport> {
    const answer = await this.#call({ method: 'GET', path: '/config/status' })
    if (answer.status !== 200) throw new Error(`the pod answers its status with ${answer.status}`)
    this.#report = readReport(jsonOf(answer))
    return this.#report
  }

  async #push(part: PushedPart, wanted: SentDocument): Promise<LaneState> {
    const started = performance.now()
    const observe = (result: string) =>
      this.#options.onPush({
        part,
        result,
        seconds: (performance.now() - started) / 1000,
        trace: this.#traces[part],
      })
    try {
      const answer = await this.#send(part)
      const state = this.#judge(part, wanted, answer)
      observe(state.state)
      return state
    } catch (error) {
      observe('unreachable')
      throw error
    }
  }

  async #send(part: PushedPart): Promise<ApiResponse> {
    const [first, ...others] = pushesOf(part, this.#wanted, this.#report?.keys.sequence)
    if (first === undefined) throw new Error('there is nothing to send')
    let answer = await this.#call(first)
    // The pod has other keys than those on which the change is based.
    for (const next of others) if (answer.status === 409) answer = await this.#call(next)
    return answer
  }

  #judge(part: PushedPart, wanted: SentDocument, answer: ApiResponse): LaneState {
    const body = jsonOf(answer)
    if (answer.status === 200) {
      this.#note(part, wanted, body)
      const isIt =
        part === 'keys' ? this.#saysKeys(readKeys(body)) : valueBelow(body, 'hash') === wanted.hash
      if (isIt) return { state: 'acknowledged' }
      return { state: 'rejected', error: 'the pod acknowledges another document' }
    }
    if (answer.status === 422) return rejected(readProblems(valueBelow(body, 'problems')))
    if (answer.status === 409) {
      const have = number(valueBelow(body, 'have'))
      if (!isBelievable(have, wanted.sequence)) return unbelievable(have, wanted.sequence)
      this.#floors[part] = Math.max(have, wanted.sequence)
      this.#report = undefined
      return PENDING
    }
    // Too many documents at once: the pod has not checked this one.
    if (answer.status === 503) throw new Error('the pod is busy')
    return refused(answer.status, body)
  }

  /** Reads the answer to a push like a report. */
  #note(part: PushedPart, wanted: SentDocument, body: unknown): void {
    const report = this.#report
    if (report === undefined) return
    if (part === 'keys') {
      this.#report = { ...report, keys: readKeys(body) }
      return
    }
    this.#report = reportAfter(report, wanted, body)
  }

  #call(request: PodRequest): Promise<ApiResponse> {
    return this.#options.transport.call({
      ...request,
      origin: this.#origin,
      deadlineMs: this.#options.timings.deadlineMs,
      signal: this.#closing.signal,
    })
  }
}

/** Failed reports that are tolerated, because a pod keeps enforcing an acknowledged document. */
const SILENCES_MAX = 3
