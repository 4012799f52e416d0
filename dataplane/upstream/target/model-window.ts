/** How many tokens a runtime's model may hold, where the configuration does not say: read where its provider says. */
import type { Dispatcher } from 'undici'
import type { UpstreamSettings } from '../../config/snapshot.ts'
import { LISTED, type WindowQuestion, windowFrom } from '../../providers/window-questions.ts'
import { readBounded } from './bounded-body.ts'

const READ_TIMEOUT_MS = 5_000
const ANSWER_BYTES_MAX = 1_048_576
/** The end of a base URL of OpenAI's wire. */
const VERSION = /\/v\d+[a-z0-9]*$/
/** A runtime that is still loading is asked again soon; one that answered may be started anew with another model. */
const UNKNOWN_MS = 5_000
const KNOWN_MS = 60_000

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
    // The last answer holds while the runtime does not answer.
    this.tokens = (await this.#read().catch(() => undefined)) ?? this.tokens
    if (this.#stopped) return
    const waitMs = this.tokens === undefined ? UNKNOWN_MS : KNOWN_MS
    this.#timer = setTimeout(() => void this.#look(), waitMs).unref()
  }
}

/** Asks the runtime once, one question after the other; undefined when none of its answers tells. */
export async function readModelWindow(
  pool: Dispatcher,
  settings: UpstreamSettings,
): Promise<number | undefined> {
  for (const question of settings.provider.windowQuestions ?? LISTED) {
    const tokens = await ask(pool, question, settings)
    if (tokens !== undefined) return tokens
  }
  return undefined
}

async function ask(
  pool: Dispatcher,
  question: WindowQuestion,
  { basePath, credential, headers, model }: UpstreamSettings,
): Promise<number | undefined> {
  const { method, path, isNative, body: bodyOf } = question
  const { statusCode, body } = await pool.request({
    path: (isNative ? basePath.replace(VERSION, '') : basePath) + path,
    method,
    headers: {
      ...(credential === '' ? {} : { authorization: `Bearer ${credential}` }),
      ...(bodyOf !== undefined && { 'content-type': 'application/json' }),
      ...headers,
      'accept-encoding': 'identity',
    },
    ...(bodyOf !== undefined && { body: bodyOf(model) }),
    signal: AbortSignal.timeout(READ_TIMEOUT_MS),
  })
  const answer = await readBounded(
    body,
    ANSWER_BYTES_MAX,
    'what it tells of its model is too large',
  )
  return statusCode === 200 ? windowFrom(question, answer.toString(), model) : undefined
}
