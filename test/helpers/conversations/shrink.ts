/** Makes a case smaller, step by step, while it shows the same fault. */
import type { Case, Conversation, Turn } from './model.ts'

export function shrunk(one: Case, isBroken: (smaller: Case) => boolean): Case {
  let best = one
  for (let again = true; again; ) {
    const smaller = candidates(best).find((each) => size(each) < size(best) && isBroken(each))
    again = smaller !== undefined
    best = smaller ?? best
  }
  return best
}

function size(one: Case): number {
  const { seed: _, ...style } = one.style
  return JSON.stringify({ ...one, style }).length
}

function* each<T>(list: readonly T[]): Generator<readonly T[]> {
  for (const index of list.keys()) yield list.toSpliced(index, 1)
}

function candidates(one: Case): Case[] {
  const { conversation, answer, style } = one
  const out: Case[] = []
  const talk = (changes: Partial<Conversation>) =>
    out.push({ ...one, conversation: { ...conversation, ...changes } })
  for (const turns of fewerTurns(conversation.turns)) talk({ turns })
  for (const tools of each(conversation.tools)) talk({ tools })
  for (const [at, tool] of conversation.tools.entries()) {
    talk({
      tools: conversation.tools.with(at, { ...tool, schema: '{"type":"object","properties":{}}' }),
    })
    talk({ tools: conversation.tools.with(at, { name: tool.name, schema: tool.schema }) })
  }
  for (const system of each(conversation.system)) talk({ system })
  for (const name of ['maxTokens', 'effort', 'user', 'choice', 'format', 'marks'] as const) {
    const { [name]: _, ...rest } = conversation
    out.push({ ...one, conversation: rest })
  }
  for (const calls of each(answer.calls)) out.push({ ...one, answer: { ...answer, calls } })
  for (const [at, call] of answer.calls.entries())
    for (const args of ['', '{}', '{"a":1}'])
      out.push({ ...one, answer: { ...answer, calls: answer.calls.with(at, { ...call, args }) } })
  const { thinking: _, ...thoughtless } = answer
  const { picture: _painted, ...unpainted } = answer
  out.push({ ...one, answer: unpainted })
  out.push(
    { ...one, answer: thoughtless },
    { ...one, answer: { ...answer, text: '' } },
    { ...one, answer: { ...answer, text: 'ab' } },
  )
  for (const name of Object.keys(style)) {
    if (name === 'seed') continue
    const { [name as 'usage']: _gone, ...rest } = style
    out.push({ ...one, style: rest as Case['style'] })
  }
  if (one.stream) out.push({ ...one, stream: false })
  return out
}

/** A turn of calls is removed with its results. */
function* fewerTurns(turns: readonly Turn[]): Generator<readonly Turn[]> {
  for (const [at, turn] of turns.entries()) {
    const next = turns[at + 1]
    if (turn.who === 'model') {
      if (next?.who === 'tools') {
        yield turns.toSpliced(at, 2)
        for (const [index, call] of turn.calls.entries()) {
          if (turn.calls.length === 1) break
          const results = next.results.filter(({ id }) => id !== call.id)
          yield turns
            .with(at, { ...turn, calls: turn.calls.toSpliced(index, 1) })
            .with(at + 1, { ...next, results })
        }
        for (const [index, call] of turn.calls.entries())
          for (const args of ['{}', '{"a":1}'])
            yield turns.with(at, { ...turn, calls: turn.calls.with(index, { ...call, args }) })
        for (const [index, { id }] of next.results.entries())
          yield turns.with(at + 1, {
            ...next,
            results: next.results.with(index, { id, text: 'ok' }),
          })
        yield turns.with(at + 1, { who: 'tools', results: next.results })
      } else yield turns.toSpliced(at, 2)
      const { thinking: _, ...rest } = turn
      yield turns.with(at, rest)
      yield turns.with(at, { ...turn, text: turn.calls.length > 0 ? '' : 'a' })
    } else if (turn.who === 'user') {
      if (at > 0) yield turns.toSpliced(at, 1)
      yield turns.with(at, { who: 'user', texts: ['Hi'] })
      yield turns.with(at, { ...turn, texts: turn.texts.slice(0, 1) })
      yield turns.with(at, { who: 'user', texts: turn.texts })
    }
  }
}
