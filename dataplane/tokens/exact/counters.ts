/** The counter of each upstream: exact by an encoding, a file or the runtime itself, else an estimate. */
import { LARGE_BYTES } from '../../base/heavy-work.ts'
import type { UpstreamSettings } from '../../config/snapshot.ts'
import { encodingOfModel } from '../../providers/facts-of-models.ts'
import type { ModelRequest } from '../../wire/inner-form.ts'
import { type Counter, ESTIMATE, type PromptCount } from '../counter.ts'
import { promptTexts } from './prompt-texts.ts'
import { templateTexts } from './template-texts.ts'
import { fileName, fileOf, type TokenizerName, TokenThread } from './token-thread.ts'

/** Bytes. A longer prompt is estimated, because it would occupy the thread. */
export const COUNTED_BYTES_MAX = 1_048_576

/** One thread for the process. It starts with the first prompt, or the first setting, that needs it. */
const THREAD = new TokenThread()

type Thread = Pick<TokenThread, 'count'> & Partial<Pick<TokenThread, 'whyBroken'>>

/** Counts in the thread. */
export class ThreadCounter implements Counter {
  readonly by: string
  readonly #tokenizer: TokenizerName
  readonly #isFile: boolean
  readonly #thread: Thread
  readonly #textsOf: typeof promptTexts | typeof templateTexts
  /** Whether the thread has loaded its tables, or requests wait for it. */
  #isReady: boolean
  #isLoading = false

  /** `isAwaited`: requests wait while the tables load; otherwise their prompts are estimated. */
  constructor(tokenizer: TokenizerName, thread: Thread = THREAD, isAwaited = true) {
    this.#isReady = isAwaited
    this.#tokenizer = tokenizer
    this.#thread = thread
    const file = fileOf(tokenizer)
    this.by = file ?? tokenizer
    this.#isFile = file !== undefined
    this.#textsOf = file === undefined ? promptTexts : templateTexts
  }

  get whyEstimated(): string | undefined {
    return this.#thread.whyBroken?.(this.#tokenizer)
  }

  count(request: ModelRequest): PromptCount | Promise<PromptCount> {
    if (request.operation !== 'chat' || request.bytes.length > COUNTED_BYTES_MAX)
      return ESTIMATE.count(request)
    if (!this.#isReady) {
      this.#load()
      return ESTIMATE.count(request)
    }
    const found = this.#textsOf(request.body)
    const exact = !('hasMedia' in found && found.hasMedia)
    return this.#thread
      .count(this.#tokenizer, found.texts)
      .then((tokens) =>
        tokens === undefined ? ESTIMATE.count(request) : { tokens: tokens + found.extra, exact },
      )
  }

  /** A token of an encoding has at least one byte. A tokenizer file may lengthen a text before it splits it. */
  most(request: ModelRequest): number | undefined {
    // The tree of a large body is dropped after sending, so it could not be counted later.
    if (this.#isFile || request.operation !== 'chat' || request.bytes.length > LARGE_BYTES)
      return undefined
    if (!this.#isReady) this.#load()
    const { texts, extra } = this.#textsOf(request.body)
    let most = extra
    for (const text of texts) most += Buffer.byteLength(text)
    return most
  }

  #load(): void {
    if (this.#isLoading) return
    this.#isLoading = true
    void this.#thread.count(this.#tokenizer, []).then((tokens) => {
      this.#isLoading = false
      this.#isReady ||= tokens !== undefined
    })
  }
}

/** Upstreams with the same tokenizer share a counter, so that a prompt is counted once for all of them. */
const COUNTERS = new Map<TokenizerName, Counter>()

/** `runtime` returns the counter that asks the upstream itself. */
export function counterOf({ section }: Pick<UpstreamSettings, 'section'>, runtime: () => Counter) {
  const { encoding, file, upstream } = section.tokenizer ?? {}
  if (upstream === true) return runtime()
  const written = file === undefined ? encoding : fileName(file)
  const tokenizer = written ?? encodingOfModel(section)
  return tokenizer === undefined ? ESTIMATE : threadCounter(tokenizer, written !== undefined)
}

function threadCounter(tokenizer: TokenizerName, isWritten: boolean): Counter {
  const counter = COUNTERS.get(tokenizer) ?? new ThreadCounter(tokenizer, THREAD, isWritten)
  // Loading the tables takes a moment; the first request does not wait for it.
  if (isWritten && !COUNTERS.has(tokenizer)) void THREAD.count(tokenizer, [])
  COUNTERS.set(tokenizer, counter)
  return counter
}
