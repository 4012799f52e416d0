/** Asks a runtime to count the tokens of a conversation with its tokenizer. */
import type { Dispatcher } from 'undici'
import type { Clock } from '../../base/clock.ts'
import type { UpstreamSettings } from '../../config/snapshot.ts'
import { readBounded } from '../../connection/bounded-body.ts'
import { parsed } from '../../json/values.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import type { Counter } from '../../tokens/counter.ts'
import { templateTexts } from '../../tokens/exact/template-texts.ts'
import { UpstreamCounter } from '../../tokens/exact/upstream-counter.ts'
import type { ChatBody } from '../../wire/inner-form.ts'
import type { TokenQuestion } from '../../wire/provider-facts.ts'

/** Large, because answers list every token. */
const ANSWER_BYTES_MAX = 16_777_216
const ANSWER_VALUES_MAX = 4_194_304
/** The end of a base URL of OpenAI's wire. */
const VERSION = /\/v\d+[a-z0-9]*$/
/** Statuses of builds that do not support the path or the form of a question. */
const UNKNOWN = new Set([400, 404, 405, 422, 501])

interface Answered {
  readonly status: number
  readonly tokens: number | undefined
}

/** Short, because requests wait for the count. */
const COUNT_MS_MAX = 500

/** A counter of prompts that asks the runtime over these connections. */
export function openRuntimeCounter(
  pool: Dispatcher,
  settingsNow: () => UpstreamSettings,
  { clock, metrics }: { readonly clock: Clock; readonly metrics: Metrics },
): Counter {
  const tokenizer = new RuntimeTokenizer(pool, COUNT_MS_MAX)
  return new UpstreamCounter(async (body) => {
    const settings = settingsNow()
    const began = clock.now()
    const count = await tokenizer.count(body, settings)
    const outcome = typeof count === 'number' ? 'ok' : 'error'
    metrics.auxiliaryRequests.at('tokenizer', settings.name, outcome).value++
    metrics.auxiliarySeconds.at('tokenizer', settings.name).observe((clock.now() - began) / 1000)
    return count
  }, clock)
}

export class RuntimeTokenizer {
  readonly #pool: Dispatcher
  readonly #timeoutMs: number
  /** The first question that the runtime is known to answer. */
  #first = 0

  constructor(pool: Dispatcher, timeoutMs: number) {
    this.#pool = pool
    this.#timeoutMs = timeoutMs
  }

  /** The count, or the reason that it is missing. */
  async count(body: ChatBody, settings: UpstreamSettings): Promise<number | string> {
    const signal = AbortSignal.timeout(this.#timeoutMs)
    let why = `${settings.provider.name} has no path that counts tokens`
    for (const [index, question] of (settings.provider.tokenQuestions ?? []).entries()) {
      if (index < this.#first) continue
      let answered: Answered
      try {
        answered = await this.#ask(question, body, settings, signal)
      } catch {
        return `${question.path} could not be asked${signal.aborted ? ' in time' : ''}`
      }
      const { status, tokens } = answered
      if (tokens !== undefined) {
        this.#first = index
        return tokens
      }
      why = `${question.path} answered ${status === 200 ? 'without a count' : `with ${status}`}`
      if (!UNKNOWN.has(status)) break
    }
    return why
  }

  async #ask(
    { method, path, isPlain, write, read }: TokenQuestion,
    body: ChatBody,
    settings: UpstreamSettings,
    signal: AbortSignal,
  ): Promise<Answered> {
    const { basePath, credential, model, headers } = settings
    const { texts, extra } = templateTexts(body)
    const { messages, tools } = body
    const authorization = credential === '' ? {} : { authorization: `Bearer ${credential}` }
    const answer = await this.#pool.request({
      path: basePath.replace(VERSION, '') + path,
      method,
      headers: { 'content-type': 'application/json', ...authorization, ...headers },
      body: JSON.stringify(write(model, { messages, tools, text: texts.join('\n') })),
      signal,
    })
    const bytes = await readBounded(answer.body, ANSWER_BYTES_MAX, 'the answer is too long')
    const { statusCode: status } = answer
    const tokens = status === 200 ? read(parsed(bytes.toString(), ANSWER_VALUES_MAX)) : undefined
    return { status, tokens: tokens === undefined || !isPlain ? tokens : tokens + extra }
  }
}
