/** How many tokens a runtime's model may hold, where the configuration does not say: read from its list of models. */
import type { Dispatcher } from 'undici'
import type { UpstreamSettings } from '../config/snapshot.ts'
import { readBounded } from './bounded-body.ts'

const READ_TIMEOUT_MS = 5_000
const LIST_BYTES_MAX = 1_048_576
/** A runtime that is still loading is asked again soon; one that answered may be started anew with another model. */
const UNKNOWN_MS = 5_000
const KNOWN_MS = 60_000

/** What runtimes call it. */
const NAMES = ['max_model_len', 'max_context_length', 'context_length', 'context_window'] as const

export class ModelWindow {
  /** Tokens; undefined until it is known. */
  tokens: number | undefined
  readonly #read: () => Promise<number | undefined>
  #timer: NodeJS.Timeout | undefined
  #stopped = false

  constructor(read: () => Promise<number | undefined>) {
    this.#read = read
    void this.#look()
  }

  stop(): void {
    this.#stopped = true
    clearTimeout(this.#timer)
  }

  async #look(): Promise<void> {
    // What was told before holds while the runtime does not answer.
    this.tokens = (await this.#read().catch(() => undefined)) ?? this.tokens
    if (this.#stopped) return
    const waitMs = this.tokens === undefined ? UNKNOWN_MS : KNOWN_MS
    this.#timer = setTimeout(() => void this.#look(), waitMs).unref()
  }
}

/** Asks the runtime once; undefined when its list does not tell. */
export async function readModelWindow(
  pool: Dispatcher,
  { basePath, credential, headers, model }: UpstreamSettings,
): Promise<number | undefined> {
  const { statusCode, body } = await pool.request({
    path: `${basePath}/models`,
    method: 'GET',
    headers: {
      ...(credential === '' ? {} : { authorization: `Bearer ${credential}` }),
      ...headers,
      'accept-encoding': 'identity',
    },
    signal: AbortSignal.timeout(READ_TIMEOUT_MS),
  })
  const list = await readBounded(body, LIST_BYTES_MAX, 'the list of models is too large')
  return statusCode === 200 ? windowIn(JSON.parse(list.toString()), model) : undefined
}

/** Of the model of that name, or of the only one there is. */
export function windowIn(list: unknown, model: string): number | undefined {
  const { data } = Object(list)
  if (!Array.isArray(data)) return undefined
  const entry = data.find((one) => Object(one).id === model) ?? (data.length === 1 ? data[0] : {})
  const told = NAMES.map((name) => Object(entry)[name])
  return told.find((tokens) => Number.isSafeInteger(tokens) && tokens > 0)
}
