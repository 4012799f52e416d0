/** Random answers of a model to a conversation. */
import { someCalls, TEXTS } from './generate.ts'
import type { Answer, Call, Conversation } from './model.ts'
import { oneOf, type Random } from './random-json.ts'

/** An answer of the upstream's model. */
export function anAnswer(random: Random, conversation: Conversation, signs: boolean): Answer {
  const { tools, turns, choice } = conversation
  const may = tools.length > 0 && choice !== 'none'
  const used = turns.flatMap((turn) => (turn.who === 'model' ? turn.calls : []))
  const calls = may && random(4) > 0 ? someCalls(random, tools, answerIds(random, used)) : []
  const text =
    calls.length > 0 ? oneOf(random, TEXTS) : oneOf(random, ['Done.', 'A 😀 word.', 'x'.repeat(90)])
  const thinking = random(3) === 0 ? { text: 'Let me see.\nWell.' } : undefined
  const signature = signs && thinking !== undefined ? { signature: 'c2lnbmVkIGJ5IGl0' } : {}
  return { text, calls, ...(thinking && { thinking: { ...thinking, ...signature } }) }
}

/** New ones, the same as in an earlier turn, or none. */
function answerIds(random: Random, used: readonly Call[]): (place: number) => string {
  const known = [...new Set(used.map(({ id }) => id))]
  const kind = random(4)
  if (kind === 0) return () => ''
  return (place) => (kind === 1 && known[place]) || `call_n${place}`
}
