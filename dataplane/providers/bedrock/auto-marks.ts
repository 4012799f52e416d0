/** Adds cache marks to a Converse request that has none, if its model caches prompts. */
import { type Json, listOf, recordOf } from '../../json/values.ts'
import type { ProviderSettings } from '../../wire/provider.ts'
import { placesIn } from '../auto-marks.ts'
import { cacheable } from './models.ts'
import { cachePoint } from './parts.ts'
import { isClaude } from './traits.ts'

const POINT = cachePoint({})

/** The same request if the model would cache nothing. */
export function withAutoMarks(
  sent: Json,
  { capabilities, model }: Pick<ProviderSettings, 'capabilities' | 'model'>,
): Json {
  const size = cacheable(model)
  if (size === undefined || capabilities.marks === false) return sent
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
    // Other model families accept no mark after tools.
    ...(places.tools &&
      isClaude(capabilities) && { toolConfig: { ...toolConfig, tools: [...prompt.tools, POINT] } }),
  }
}
