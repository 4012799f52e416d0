/** The context window of a runtime's model, read from the runtime if the configuration does not set it. */
import type { Dispatcher } from 'undici'
import type { UpstreamSettings } from '../../config/snapshot.ts'
import { LISTED, type WindowQuestion, windowFrom } from '../../wire/window-questions.ts'
import { askRuntime } from './asked-runtime.ts'

/** Intervals: short while a runtime is loading; long after an answer, because it may restart with another model. */
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
    // Keeps the last answer while the runtime does not answer.
    this.tokens = (await this.#read().catch(() => undefined)) ?? this.tokens
    if (this.#stopped) return
    const waitMs = this.tokens === undefined ? UNKNOWN_MS : KNOWN_MS
    this.#timer = setTimeout(() => void this.#look(), waitMs).unref()
  }
}

/** Asks the runtime once, one question after the other; undefined if no answer has the window. */
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
  settings: UpstreamSettings,
): Promise<number | undefined> {
  const { method, path, isNative, body } = question
  const asked = { method, path, isNative, body: body?.(settings.model) }
  const text = await askRuntime(pool, asked, settings)
  return text === undefined ? undefined : windowFrom(question, text, settings.model)
}
