/** An answer as the pieces that a server sends, in the order and with the gaps of its style. */
import { aRandom } from '../../random.ts'
import type { Answer, Style } from '../model.ts'
import type { Random } from '../random-json.ts'

export interface CallPiece {
  readonly at: number
  readonly id?: string
  readonly name?: string
  readonly args?: string
}

/** The content of one event. */
export interface Piece {
  readonly thinking?: string
  readonly text?: string
  readonly calls?: readonly CallPiece[]
}

export function cutText(text: string, random: Random, pieces: number): string[] {
  const places = Array.from({ length: pieces - 1 }, () => random(text.length + 1)).toSorted(
    (a, b) => a - b,
  )
  const cut = [...places, text.length].map((end, index) => text.slice(places[index - 1] ?? 0, end))
  return cut.filter((one) => one !== '')
}

/** A server sends no half of a character that JSON cannot write. */
export function cutSafely(text: string, random: Random, pieces: number): string[] {
  const cut = cutText(text, random, pieces)
  const isHalf = cut.some((one) => !one.isWellFormed())
  return isHalf ? [text] : cut
}

export function piecesOf({ thinking, text, calls }: Answer, style: Style): Piece[] {
  const random = aRandom(style.seed)
  const many = style.pieces === 'whole' ? 1 : 1 + random(4)
  const out: Piece[] = []
  if (thinking)
    out.push(...cutSafely(thinking.text, random, many).map((one) => ({ thinking: one })))
  const words = cutSafely(text, random, many).map((one) => ({ text: one }))
  const late =
    style.between?.startsWith('words') === true && calls.length > 0 ? words.splice(1) : []
  out.push(...words)
  const byCall = calls.map((call, at) => callPieces(call, at, style, random, many))
  return [...out, ...between(ordered(byCall, style), late, style)]
}

function callPieces(
  { id, name, args }: Answer['calls'][number],
  at: number,
  style: Style,
  random: Random,
  many: number,
): CallPiece[] {
  const texts = cutSafely(args, random, many)
  const [first, ...rest] = texts
  const withId = id === '' ? {} : { id }
  const isApart = style.arguments === 'late' || style.id === 'late' || style.name === 'late'
  const begun: CallPiece = {
    at,
    ...(style.id !== 'late' && withId),
    ...(style.name !== 'late' && { name }),
    ...(!isApart && { args: first ?? '' }),
  }
  const next: CallPiece[] = isApart && first !== undefined ? [{ at, args: first }] : []
  const again = {
    ...(style.id === 'repeated' && withId),
    ...(style.name === 'repeated' && { name }),
  }
  const more = rest.map((one) => ({ at, args: one, ...again }))
  const lateOnes = { ...(style.id === 'late' && withId), ...(style.name === 'late' && { name }) }
  const tail: CallPiece[] = Object.keys(lateOnes).length > 0 ? [{ at, ...lateOnes }] : []
  return [begun, ...next, ...tail, ...more]
}

function ordered(byCall: readonly CallPiece[][], { calls, index }: Style): CallPiece[][] {
  if (calls === undefined || index !== undefined) return byCall.flat().map((one) => [one])
  const rounds = Math.max(0, ...byCall.map(({ length }) => length))
  const turns = Array.from({ length: rounds }, (_, round) =>
    byCall.flatMap((one) => one[round] ?? []),
  )
  return calls === 'together' ? turns : turns.flat().map((one) => [one])
}

function between(
  chunks: readonly CallPiece[][],
  late: readonly Piece[],
  { between: kind }: Style,
): Piece[] {
  const out: Piece[] = []
  const waiting = [...late]
  for (const calls of chunks) {
    const isFirst = out.length === 0
    const words = isFirst ? undefined : waiting.shift()
    if (kind === 'words in the chunk' && words) out.push({ ...words, calls })
    else if (kind === 'reasoning' && !isFirst) out.push({ thinking: 'hm ' }, { calls })
    else if (words) out.push(words, { calls })
    else out.push({ calls })
  }
  return [...out, ...waiting]
}

/** The reasoning that the client should get, including that between the pieces of calls. */
export function thinkingIn(pieces: readonly Piece[]): string {
  return pieces.map(({ thinking = '' }) => thinking).join('')
}
