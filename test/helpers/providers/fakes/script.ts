/** The answers of the fakes of hosted APIs, independent of their wire: one conversation for all of them. */
import type { ServerResponse } from 'node:http'
import { listBelow, recordOf, textOf } from '../../../../dataplane/json/values.ts'

export type Json = Readonly<Record<string, unknown>>

export interface Said {
  /** In the pieces of a stream. */
  readonly text: readonly string[]
  readonly reasoning?: string
  readonly calls: readonly { readonly name: string; readonly arguments: string }[]
  /** The stream fails after its first words, or just ends. */
  readonly ending?: 'fails' | 'vanishes'
}

/** The parts of a request that the script reads. */
export interface Heard {
  readonly messages: readonly Json[]
  readonly hasTools: boolean
  readonly wantsJson: boolean
  readonly thinks: boolean
}

export function answerTo({ messages, hasTools, wantsJson, thinks }: Heard): Said {
  const last = recordOf(messages.at(-1))
  const question = textIn(recordOf(messages.findLast(({ role }) => role === 'user')).content)
  const calls =
    hasTools && last.role !== 'tool' ? (question.match(/Oslo|Bergen/g) ?? []).map(callFor) : []
  return {
    text: wordsFor(last, question, wantsJson, calls.length > 0),
    ...(thinks && { reasoning: 'Let me see.' }),
    calls,
    ...(question === 'Fail.' && { ending: 'fails' }),
    ...(question === 'Vanish.' && { ending: 'vanishes' }),
  }
}

function wordsFor(last: Json, question: string, wantsJson: boolean, isCalling: boolean): string[] {
  if (isCalling) return []
  if (last.role === 'tool') return ['It is ', textIn(last.content)]
  if (wantsJson) return ['{"city":', '"Oslo"}']
  if (listBelow(last, 'content').some((part) => recordOf(part).type === 'image_url')) {
    return ['A ', 'picture']
  }
  return ['You said: ', question]
}

function callFor(city: string) {
  return { name: 'get_weather', arguments: JSON.stringify({ city }) }
}

export function textIn(content: unknown): string {
  if (typeof content === 'string') return content
  return listBelow(content)
    .map((part) => textOf(recordOf(part).text) ?? '')
    .join('')
}

/** The vector of a text: its length, and three numbers that fit 32 bits. */
export function vectorOf(text: unknown): number[] {
  return [String(text).length, 0.5, -0.25, 1]
}

/** A refusal of a fake; `undefined` if it serves. */
export interface Refused {
  readonly status: number
  readonly body: unknown
}

export function writeJson(outgoing: ServerResponse, status: number, body: unknown): void {
  outgoing.writeHead(status, { 'content-type': 'application/json' })
  outgoing.end(JSON.stringify(body))
}
