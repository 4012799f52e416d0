/** The room that the context windows of a route leave for passages, and the passages that fit into it. */

import { windowOf } from '../limits/quote.ts'
import type { ContextTrace } from '../telemetry/trace/parts.ts'
import { PromptTokens } from '../tokens/counter.ts'
import type { Target } from '../upstream/live/targets.ts'
import type { ChatMessage, ChatRequest } from '../wire/inner-form.ts'
import { messageOf } from './inserted.ts'
import { dropLowest, keptOf, type Passage } from './passages.ts'

/** The tokens that a window holds in addition to prompt and passages. */
export interface AnswerRoom {
  /** The limit of the answer that is sent upstream, or the minimum length of an answer. */
  readonly needed: number
  /** `context.reserve_completion_tokens`. */
  readonly reserved: number
}

export interface Room {
  /** Tokens; Infinity if no window is known. */
  readonly left: number
  readonly context: Omit<ContextTrace, 'added'>
  /** Whether the prompt, this many more tokens and the answer fit the upstream's window. */
  holds(target: Target, added: number): boolean
}

/** By the upstream with the largest window, and its count. */
export async function roomFor(
  request: ChatRequest,
  targets: readonly Target[],
  { needed, reserved }: AnswerRoom,
): Promise<Room> {
  const tokens = new PromptTokens(request)
  await tokens.count(targets)
  const [first] = targets
  const largest = targets.reduce(
    (most, one) => (most === undefined || windowOf(one) > windowOf(most) ? one : most),
    first,
  )
  const window = largest === undefined ? Number.POSITIVE_INFINITY : windowOf(largest)
  const prompt = largest === undefined ? 0 : tokens.at(largest)
  const kept = Math.max(needed, reserved)
  const left = Math.max(0, window - kept - prompt)
  return {
    left,
    context: {
      window: finite(window),
      reserved: kept,
      prompt,
      exact: tokens.areExact(targets),
      room: finite(left),
    },
    holds: (target, added) => tokens.at(target) + added + needed <= windowOf(target),
  }
}

/**
 * The message with the passages that fit, and its tokens; undefined if none does. The marks around passages count too,
 * so it is counted as a whole until it fits.
 */
export async function fitted(
  passages: readonly Passage[],
  left: number,
  count: (content: string) => Promise<number>,
): Promise<{ readonly message: ChatMessage; readonly tokens: number } | undefined> {
  let allowed = left
  for (;;) {
    dropLowest(passages, allowed, 'context_window')
    const kept = keptOf(passages)
    if (kept.length === 0) return undefined
    const message = messageOf(kept)
    const tokens = await count(String(message.content))
    if (tokens <= left) return { message, tokens }
    const texts = kept.reduce((sum, one) => sum + one.tokens, 0)
    // Drops at least one passage each time; empty ones together.
    if (texts === 0) dropAll(kept)
    allowed = Math.max(0, Math.min(texts - 1, texts - (tokens - left)))
  }
}

function dropAll(passages: readonly Passage[]): void {
  for (const passage of passages) {
    passage.kept = false
    passage.reason = 'context_window'
  }
}

function finite(tokens: number): number | null {
  return Number.isFinite(tokens) ? tokens : null
}
