/** The form that most events of a stream share: they differ only in the text of the answer and in the usage so far. */
import { endOfObject, USAGE_MEMBER } from './repeated-usage.ts'

/** The variable parts of an event, which its pattern finds. */
export interface Places {
  /** The text, without its quotes. */
  textAt: number
  textEnd: number
  /** The usage so far; both are 0 if the event has none. */
  usageAt: number
  usageEnd: number
  /** Index after the event. */
  end: number
}

/** An event that was searched: its bytes, the bytes that the client gets, and the place of its only text. */
export interface SearchedEvent {
  readonly frame: Buffer
  /** Both with a character for each byte. */
  readonly text: string
  readonly shown: string
  readonly textAt: number
  readonly textEnd: number
}

/** Events with a longer form are not remembered. */
const LENGTH_MAX = 4_096
const [QUOTE, BACKSLASH, BLANK] = [0x22, 0x5c, 0x20] as const

export class EventPattern {
  /** To the quote before the text. */
  readonly #head: string
  /** From the quote after the text to the usage, or to the end. */
  readonly #middle: string
  /** The bytes after the usage; undefined if the event has no usage. */
  readonly #rest: string | undefined
  /** Whether the client gets the event unchanged. */
  readonly isSame: boolean
  /** The client's form: around the text. */
  readonly #shownHead: string
  readonly #shownTail: string

  /** undefined if other events cannot be compared with this one. */
  static of({ frame, text, shown, textAt, textEnd }: SearchedEvent): EventPattern | undefined {
    if (text.length - (textEnd - textAt) > LENGTH_MAX) return undefined
    const member = text.indexOf(USAGE_MEMBER)
    const isOdd = member !== -1 && (member < textEnd || text.includes(USAGE_MEMBER, member + 1))
    const written = text.slice(textAt - 1, textEnd + 1)
    const shownAt = shown === text ? textAt - 1 : shown.indexOf(written)
    // The client's form lacks a member, so the place of the text must be certain.
    const isClear = shown === text || (shownAt !== -1 && shownAt === shown.lastIndexOf(written))
    if (isOdd || !isClear) return undefined
    // Copies, because a part of a string keeps the whole in memory.
    const part = (from: number, to?: number) => frame.toString('latin1', from, to)
    const usageAt = member === -1 ? undefined : member + USAGE_MEMBER.length - 1
    const usageEnd = usageAt && endOfObject(text, usageAt)
    return new EventPattern(
      [part(0, textAt), part(textEnd, usageAt), usageEnd === undefined ? usageEnd : part(usageEnd)],
      shown === text,
      [copied(shown.slice(0, shownAt + 1)), copied(shown.slice(shownAt + written.length - 1))],
    )
  }

  private constructor(
    [head, middle, rest]: readonly [string, string, string | undefined],
    isSame: boolean,
    [shownHead, shownTail]: readonly [string, string],
  ) {
    this.#head = head
    this.#middle = middle
    this.#rest = rest
    this.isSame = isSame
    this.#shownHead = shownHead
    this.#shownTail = shownTail
  }

  get hasUsage(): boolean {
    return this.#rest !== undefined
  }

  /** Whether an event of this form begins at `from`; its places are written to `places`. */
  finds(text: string, frames: Buffer, from: number, places: Places): boolean {
    const head = this.#head
    const textAt = from + head.length
    if (text.slice(from, textAt) !== head) return false
    const textEnd = endOfText(frames, textAt)
    const middleEnd = textEnd + this.#middle.length
    if (textEnd === 0 || text.slice(textEnd, middleEnd) !== this.#middle) return false
    places.textAt = textAt
    places.textEnd = textEnd
    places.end = middleEnd
    const rest = this.#rest
    if (rest === undefined) return true
    const usageEnd = endOfObject(text, middleEnd)
    if (usageEnd === undefined) return false
    places.usageAt = middleEnd
    places.usageEnd = usageEnd
    places.end = usageEnd + rest.length
    return text.slice(usageEnd, places.end) === rest
  }

  /** The client's event. */
  shown(text: string, { textAt, textEnd }: Places): string {
    return this.#shownHead + text.slice(textAt, textEnd) + this.#shownTail
  }
}

/** The position of the quote that ends a string; 0 if the bytes before it cannot be a string of JSON. */
function endOfText(frames: Buffer, start: number): number {
  for (let at = start; at < frames.length; at++) {
    const byte = frames[at] as number
    if (byte === QUOTE) return at
    if (byte < BLANK) return 0
    if (byte === BACKSLASH && (frames[++at] ?? 0) < BLANK) return 0
  }
  return 0
}

function copied(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1')
}
