/** The usage of a stream that reports it for each choice, unasked, instead of once at its end. */

import { listOf, recordOf } from '../../../json/values.ts'
import type { CompletionsRequest, Sent, Usage } from '../../../wire/inner-form.ts'
import type { Chunk } from '../chunks.ts'
import { indexOf, readUsage } from '../members.ts'

export class UsagePerChoice {
  readonly #perPrompt: number
  readonly #isAsked: boolean
  #sum: Usage | undefined
  /** The members that all events share. */
  #frame: Chunk = {}

  constructor({ choices, prompts, includeUsage }: Sent<CompletionsRequest>) {
    this.#perPrompt = choices / prompts
    this.#isAsked = includeUsage
  }

  /** The usage so far; undefined if this chunk adds none. */
  add(chunk: Chunk): Usage | undefined {
    const one = readUsage(chunk.usage, chunk)
    if (one === undefined) return undefined
    const { choices, usage: _, timings: __, ...frame } = chunk
    this.#frame = frame
    // Every choice of a prompt reports the same prompt tokens.
    const isFirst = indexOf(recordOf(listOf(choices)[0])) % this.#perPrompt === 0
    const { promptTokens, completionTokens, cachedTokens } = one
    const before = this.#sum ?? { ...one, promptTokens: 0, completionTokens: 0, cachedTokens: 0 }
    this.#sum = {
      ...before,
      promptTokens: before.promptTokens + (isFirst ? promptTokens : 0),
      completionTokens: before.completionTokens + completionTokens,
      cachedTokens: before.cachedTokens + (isFirst ? cachedTokens : 0),
    }
    return this.#sum
  }

  withoutUsage({ usage: _, ...rest }: Chunk): string {
    return `data: ${JSON.stringify(rest)}\n\n`
  }

  /** The event with the usage of all choices, for a client that asked for it. */
  lastEvent(): string | undefined {
    if (!this.#isAsked || this.#sum === undefined) return undefined
    const { promptTokens, completionTokens } = this.#sum
    const usage = {
      prompt_tokens: promptTokens,
      completion_tokens: completionTokens,
      total_tokens: promptTokens + completionTokens,
    }
    return `data: ${JSON.stringify({ ...this.#frame, choices: [], usage })}\n\n`
  }
}
