/** Puts cache marks into a request of Converse that has none, if its model keeps the prompt in a cache. */
import { type Json, listOf, recordOf } from '../../json/values.ts'
import type { Cacheable } from '../../wire/provider-facts.ts'
import { cacheable as ofClaude } from '../anthropic/cacheable.ts'
import { placesIn } from '../auto-marks.ts'
import { namedIn } from './model-name.ts'
import { isClaude } from './models.ts'
import { cachePoint } from './parts.ts'

/** 2026-11-26, https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html. */
const OLD_CLAUDE = /^claude-(?:instant|3-(?:opus|sonnet|haiku|5-sonnet))/
const NOVA = /^nova-(?:micro|lite|pro|premier)$/
const OF_NOVA: Cacheable = { from: 1_000, to: 20_000 }

const POINT = cachePoint({})

/** undefined for a model that takes no marks, and for one whose name does not say what it is. */
export function cacheable(model: string): Cacheable | undefined {
  const { name } = namedIn(model)
  if (name.startsWith('claude-')) return OLD_CLAUDE.test(name) ? undefined : ofClaude(name)
  return NOVA.test(name) ? OF_NOVA : undefined
}

/** The same request where the model would keep nothing. */
export function withAutoMarks(sent: Json, model: string): Json {
  const size = cacheable(model)
  if (size === undefined) return sent
  const toolConfig = recordOf(sent.toolConfig)
  const prompt = {
    tools: listOf(toolConfig.tools),
    system: listOf(sent.system),
    turns: listOf(sent.messages).map(recordOf),
  }
  const places = placesIn(prompt, size, () => true)
  const messages = prompt.turns.map((turn, index) =>
    places.turns.has(index) ? { ...turn, content: [...listOf(turn.content), POINT] } : turn,
  )
  return {
    ...sent,
    ...(places.system && { system: [...prompt.system, POINT] }),
    ...(places.turns.size > 0 && { messages }),
    // Other families take none behind tools.
    ...(places.tools &&
      isClaude(model) && { toolConfig: { ...toolConfig, tools: [...prompt.tools, POINT] } }),
  }
}
