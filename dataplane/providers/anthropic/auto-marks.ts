/** Adds cache marks to a request of the Messages API that has none. */
import { isRecord, type Json, listOf, recordOf, textOf } from '../../json/values.ts'
import { placesIn } from '../auto-marks.ts'
import { MARK } from '../marks.ts'
import { cacheable } from './models.ts'

const MARKED = { [MARK]: { type: 'ephemeral' } }
/** The API accepts no mark at other blocks of a user. */
const TAKES_MARK: ReadonlySet<unknown> = new Set([
  'document',
  'image',
  'search_result',
  'text',
  'tool_result',
])

/** The members with marks; none if the model would cache nothing. */
export function autoMarks({ tools, system, messages }: Json, model: string): Json {
  const size = cacheable(model)
  const prompt = { tools: listOf(tools), system: blocksOf(system), turns: turnsOf(messages) }
  if (size === undefined) return {}
  const places = placesIn(prompt, size, ({ content }) => lastIn(blocksOf(content)) !== -1)
  const tool = prompt.tools.findLastIndex((one) => recordOf(one).defer_loading !== true)
  const turns = prompt.turns.map((turn, index) =>
    places.turns.has(index) ? { ...turn, content: marked(blocksOf(turn.content)) } : turn,
  )
  return {
    ...(places.tools && tool !== -1 && { tools: withMark(prompt.tools, tool) }),
    ...(places.system && lastIn(prompt.system) !== -1 && { system: marked(prompt.system) }),
    ...(places.turns.size > 0 && { messages: turns }),
  }
}

function turnsOf(messages: unknown): readonly Json[] {
  const turns = listOf(messages)
  return turns.every(isRecord) ? turns : []
}

/** A text is a block of the message. */
function blocksOf(content: unknown): readonly unknown[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : listOf(content)
}

function lastIn(blocks: readonly unknown[]): number {
  return blocks.findLastIndex((block) => {
    const { type, text } = recordOf(block)
    return TAKES_MARK.has(type) && (type !== 'text' || (textOf(text) ?? '').trim() !== '')
  })
}

function marked(blocks: readonly unknown[]): readonly unknown[] {
  return withMark(blocks, lastIn(blocks))
}

function withMark(list: readonly unknown[], index: number): readonly unknown[] {
  return list.with(index, { ...recordOf(list[index]), ...MARKED })
}
