/** Checks, at the start and repeatedly, that a runtime serves the model revision to which its tokenizer is pinned. */
import type { Dispatcher } from 'undici'
import type { ErrorCode } from '../../base/errors.ts'
import type { UpstreamSettings } from '../../config/snapshot.ts'
import { parsed } from '../../json/values.ts'
import type { Log } from '../../telemetry/log.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import { isSameRevision, LISTED_REVISION } from '../../wire/revisions.ts'
import { askRuntime } from './asked-runtime.ts'

/** Interval while a runtime is loading or serves the wrong revision. */
const SOON_MS = 5_000
const LATER_MS = 60_000

/** `detected`: no revision is pinned, so any served revision is accepted. */
export type RevisionState = 'unknown' | 'match' | 'mismatch' | 'detected'

interface World {
  readonly log: Log
  readonly metrics: Pick<Metrics, 'tokenizerMismatch'>
  /** Asks the runtime; undefined if it does not report a revision. */
  read(): Promise<string | undefined>
}

export class ModelRevision {
  readonly pinned: string | undefined
  served: string | undefined
  state: RevisionState = 'unknown'
  readonly #name: string
  readonly #world: World
  #timer: NodeJS.Timeout | undefined
  #stopped = false

  constructor(name: string, pinned: string | undefined, world: World) {
    this.#name = name
    this.pinned = pinned
    this.#world = world
    if (pinned !== undefined) world.metrics.tokenizerMismatch.at(name).value = 0
    void this.#look()
  }

  stop(): void {
    this.#stopped = true
    clearTimeout(this.#timer)
  }

  async #look(): Promise<void> {
    const served = await this.#world.read().catch(() => undefined)
    if (this.#stopped) return
    // Keeps the last answer while the runtime does not answer.
    if (served !== undefined) this.#take(served)
    const isSettled = this.state === 'match' || this.state === 'detected'
    const waitMs = isSettled ? LATER_MS : SOON_MS
    this.#timer = setTimeout(() => void this.#look(), waitMs).unref()
  }

  #take(served: string): void {
    const { pinned, served: before } = this
    this.served = served
    this.state = stateOf(pinned, served)
    const { log, metrics } = this.#world
    if (pinned !== undefined)
      metrics.tokenizerMismatch.at(this.#name).value = this.state === 'mismatch' ? 1 : 0
    if (served === before) return
    const isWrong = this.state === 'mismatch'
    const code = isWrong ? ('ERR_GW_TOKENIZER_MISMATCH' satisfies ErrorCode) : undefined
    const facts = { upstream: this.#name, state: this.state, pinned, served, ...(code && { code }) }
    log.event(
      isWrong ? 'error' : 'info',
      'tokenizer',
      wordsOf(this.#name, this.state, served),
      facts,
    )
  }
}

export function stateOf(pinned: string | undefined, served: string | undefined): RevisionState {
  if (served === undefined) return 'unknown'
  if (pinned === undefined) return 'detected'
  return isSameRevision(pinned, served) ? 'match' : 'mismatch'
}

function wordsOf(name: string, state: RevisionState, served: string): string {
  const serves = `Upstream "${name}" serves revision ${served}`
  return state === 'mismatch' ? `${serves}, but its tokenizer is pinned to another.` : `${serves}.`
}

/** undefined if no answer of the runtime has a revision. */
export async function readModelRevision(
  pool: Dispatcher,
  settings: UpstreamSettings,
): Promise<string | undefined> {
  const { provider, model } = settings
  for (const { path, isNative, read } of provider.revisionQuestions ?? LISTED_REVISION) {
    const text = await askRuntime(pool, { method: 'GET', path, isNative }, settings)
    const revision = text === undefined ? undefined : read(parsed(text), model)
    if (revision !== undefined) return revision.slice(0, REVISION_LENGTH_MAX)
  }
  return undefined
}

const REVISION_LENGTH_MAX = 200
