/** A client of one API: it writes requests, and reads answers like that API's SDKs. */
import type { Answer, Case, Conversation } from '../model.ts'

export interface Client {
  readonly name: string
  /** The JSON text of a request. */
  write(conversation: Conversation, stream: boolean): string
  readWhole(text: string, forgets: boolean): Heard
  /** Throws where an SDK does. */
  readStream(text: string, forgets: boolean): Heard
}

/** An answer as a client reads it. */
export interface Heard extends Answer {
  /** Whether its finish reason means calls. */
  readonly endsWithCalls: boolean
  /** The members of the conversation's list with which it is sent back, as JSON text. */
  readonly items: readonly string[]
  /** Whether it looks complete. */
  readonly isWhole: boolean
}

export type Asked = Pick<Case, 'conversation' | 'stream'>

/** The data of the events of a stream. */
export function eventsIn(text: string): { readonly event: string; readonly data: string }[] {
  return text.split('\n\n').flatMap((block) => {
    const lines = block.split('\n').filter((line) => line !== '' && !line.startsWith(':'))
    const of = (name: string) =>
      lines.flatMap((line) => (line.startsWith(`${name}: `) ? [line.slice(name.length + 2)] : []))
    return lines.length === 0 ? [] : [{ event: of('event').join(''), data: of('data').join('\n') }]
  })
}
