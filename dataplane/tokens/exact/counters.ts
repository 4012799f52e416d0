/** The counter of each upstream: exact where its configuration names the encoding, else an estimate. */
import type { UpstreamSettings } from '../../config/snapshot.ts'
import type { ModelRequest } from '../../inner-form.ts'
import type { Encoding } from '../../providers/encodings.ts'
import { type Counter, ESTIMATE, type PromptCount } from '../counter.ts'
import { promptTexts } from './prompt-texts.ts'
import { TokenThread } from './token-thread.ts'

/** Bytes. A longer prompt is estimated: it would keep the thread from others for seconds. */
const COUNTED_BYTES_MAX = 1_048_576

/** One thread for the process; it begins with the first upstream that needs it. */
const THREAD = new TokenThread()

export class EncodingCounter implements Counter {
  readonly #encoding: Encoding
  readonly #thread: Pick<TokenThread, 'count'>

  constructor(encoding: Encoding, thread: Pick<TokenThread, 'count'> = THREAD) {
    this.#encoding = encoding
    this.#thread = thread
  }

  count(request: ModelRequest): PromptCount | Promise<PromptCount> {
    if (request.operation !== 'chat' || request.bytes.length > COUNTED_BYTES_MAX)
      return ESTIMATE.count(request)
    const { texts, extra } = promptTexts(request.body)
    return this.#thread
      .count(this.#encoding, texts)
      .then((tokens) =>
        tokens === undefined ? ESTIMATE.count(request) : { tokens: tokens + extra, exact: true },
      )
  }
}

/** Upstreams with the same encoding share a counter, so that a prompt is counted once for all of them. */
const COUNTERS = new Map<Encoding, Counter>()

export function counterOf({ section }: Pick<UpstreamSettings, 'section'>): Counter {
  const encoding = section.tokenizer?.encoding
  if (encoding === undefined) return ESTIMATE
  const known = COUNTERS.get(encoding)
  if (known !== undefined) return known
  const counter = new EncodingCounter(encoding)
  COUNTERS.set(encoding, counter)
  // The tables take a moment to load; the first request need not wait for them.
  void THREAD.count(encoding, [])
  return counter
}
