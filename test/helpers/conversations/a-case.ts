/** A random case for one pair of wires. */
import { aRandom } from '../random.ts'
import { aConversation } from './generate.ts'
import { anAnswer } from './generate-answer.ts'
import { aStyle } from './generate-style.ts'
import type { Case, Conversation } from './model.ts'
import { passes } from './passes.ts'
import { oneOf, type Random } from './random-json.ts'
import { UPSTREAMS, type Upstream } from './upstream/index.ts'

/** The same for the same numbers. */
export function aCase(seed: number, api: string, provider: string, isNative = false): Case {
  const upstream = UPSTREAMS[provider] as Upstream
  const random = mixed(seed)
  const habits = {
    model: oneOf(random, upstream.models),
    effort: true,
    signed: api === 'messages',
    marks: api !== 'responses',
  }
  const conversation = withFourMarks(aConversation(random, habits))
  const made = anAnswer(random, conversation, upstream.signs === true)
  const { thinking, ...plain } = made
  const withIds =
    upstream.givesIds || isNative
      ? plain.calls.map((call, place) => ({ ...call, id: call.id || `toolu_g${place}` }))
      : plain.calls
  const calls =
    provider === 'mistral'
      ? withIds.map((call, place) => ({ ...call, id: `D681PevK${place}` }))
      : withIds
  const text = upstream.givesIds ? plain.text.trim() : plain.text
  const answer = { ...plain, text, calls, ...(thinking && !upstream.cannotThink && { thinking }) }
  const painted = provider === 'gemini' && random(10) === 0 ? { ...answer, picture: true } : answer
  const isPassed = passes({ api, provider, isNative })
  const style = aStyle(random, answer, isPassed || !upstream.isChat)
  return {
    api,
    provider,
    ...(isNative && { isNative }),
    stream: random(3) > 0,
    conversation,
    answer: painted,
    style,
    forgets: random(3) === 0,
  }
}

/** Longer than the smallest prompt that any of the models caches. */
const LONG = 'Be brief. '.repeat(2_000)

/** The same case if the gateway should set marks. */
export function autoMarked(one: Case): Case {
  const { conversation } = one
  const system = [LONG, ...conversation.system]
  return { ...one, conversation: { ...conversation, system, isAutoMarked: true } }
}

/** Neighbouring seeds begin with the same numbers. */
function mixed(seed: number): Random {
  const random = aRandom(Math.imul(seed + 1, 0x9e3779b1))
  for (let left = 3; left > 0; left--) random(2)
  return random
}

/** Clients set at most four cache marks. */
function withFourMarks(conversation: Conversation): Conversation {
  let left = conversation.marks === undefined ? 4 : 3
  const unmarked = <Marked extends { readonly mark?: boolean }>({ mark, ...one }: Marked) =>
    mark && left-- > 0 ? { ...one, mark } : one
  const turns = conversation.turns.map((turn) => {
    if (turn.who === 'user') return unmarked(turn) as typeof turn
    return turn.who === 'tools'
      ? { ...turn, results: turn.results.map((one) => unmarked(one) as typeof one) }
      : turn
  })
  return { ...conversation, turns }
}
