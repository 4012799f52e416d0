/** A conversation as an upstream sees it, independent of an API; and as it was meant. */
import { canonical } from '../json-text.ts'
import type { Conversation, Result } from '../model.ts'

export interface SeenCall {
  readonly id: string
  readonly name: string
  /** Canonical. */
  readonly args: string
  /** undefined: no result. */
  result?: string
}

export class Seen {
  system = ''
  user = ''
  model = ''
  thinking = ''
  pictures = 0
  marks = 0
  /** Unsigned ones, each unchanged. */
  readonly thoughts: string[] = []
  readonly signatures: string[] = []
  readonly calls: SeenCall[] = []
  readonly tools: string[] = []

  call(id: string, name: string, args: string): void {
    this.calls.push({ id, name, args: canonical(args || '{}') })
  }

  /** The first call with this id, or at this position, without a result yet. */
  result(fits: (call: SeenCall) => boolean, text: string): void {
    const call = this.calls.find((one) => one.result === undefined && fits(one))
    if (call !== undefined) call.result = text
  }
}

/** The same for the client's conversation. */
export function meantBy({ system, turns, tools, marks }: Conversation): Seen {
  const seen = new Seen()
  const isThere = marks === 'tools' ? tools.length > 0 : system.length > 0
  if (marks !== undefined && isThere) seen.marks++
  seen.system = system.join('')
  for (const { name } of tools) seen.tools.push(name)
  for (const turn of turns) {
    if (turn.who === 'user') {
      seen.user += turn.texts.join('')
      if (turn.picture) seen.pictures++
      if (turn.mark) seen.marks++
    } else if (turn.who === 'tools') {
      for (const result of turn.results) addResult(seen, result)
      seen.user += turn.then ?? ''
    } else {
      const { text, thinking, calls } = turn.who === 'given' ? turn.answer : turn
      seen.model += text
      if (turn.who === 'given' && turn.answer.picture) seen.pictures++
      if (thinking?.signature) seen.signatures.push(thinking.signature)
      else if (thinking) seen.thoughts.push(thinking.text)
      for (const { id, name, args } of calls) seen.call(id, name, args || '{}')
    }
  }
  return seen
}

function addResult(seen: Seen, { id, text, picture, mark }: Result): void {
  if (mark) seen.marks++
  seen.result((call) => call.id === id, text)
  if (picture) seen.pictures++
}

/** White space does not count: APIs refuse blank texts, and join others. */
export function squashed(text: string): string {
  return text.replace(/\s/g, '')
}
