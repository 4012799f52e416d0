/**
 * Judges a stream piece by piece. The end of the judged text is held back until more has arrived, so that a word that
 * is cut anywhere is judged as a whole before any of it is sent.
 */
import type { KeptText } from '../base/kept-text.ts'
import type { AnswerEvent, ChatDelta, ChatEvent, ToolCallDelta } from '../wire/inner-form.ts'
import type { StreamInspector } from '../wire/inspection.ts'

type TextKind = 'text' | 'reasoning' | 'refusal'
type Judge = (texts: readonly string[]) => Promise<readonly string[]>

/** Characters that are held back: a guardrail finds nothing longer than this in a stream. */
const TAIL = 256
/** Characters beyond the tail before a guardrail is called. */
const STEP = 256

export class HeldStream implements StreamInspector {
  readonly #judge: Judge
  readonly #kept: KeptText
  readonly #choices = new Map<number, HeldChoice>()

  constructor(judge: Judge, kept: KeptText) {
    this.#judge = judge
    this.#kept = kept
  }

  async next(events: readonly AnswerEvent[]): Promise<readonly AnswerEvent[]> {
    const shown: ChatEvent[] = []
    for (const event of events as readonly ChatEvent[]) {
      if (event.kind === 'start') shown.push(event)
      else shown.push(...(await this.#choiceOf(event.choice).take(event)))
    }
    return shown
  }

  async end(): Promise<readonly AnswerEvent[]> {
    const rests = await Promise.all([...this.#choices.values()].map((choice) => choice.rest()))
    return rests.flat()
  }

  #choiceOf(index: number): HeldChoice {
    const known = this.#choices.get(index)
    if (known !== undefined) return known
    this.#kept.keepEntry()
    const made = new HeldChoice(index, this.#judge, this.#kept)
    this.#choices.set(index, made)
    return made
  }
}

class HeldChoice {
  readonly #index: number
  readonly #judge: Judge
  readonly #kept: KeptText
  #kind: TextKind = 'text'
  #held = ''
  /** Arguments are judged only as a whole. */
  #calls = new Map<number, ToolCallDelta>()

  constructor(index: number, judge: Judge, kept: KeptText) {
    this.#index = index
    this.#judge = judge
    this.#kept = kept
  }

  async take(event: Exclude<ChatEvent, { kind: 'start' }>): Promise<ChatEvent[]> {
    if (event.kind === 'end') return [...(await this.rest()), event]
    // Thinking repeats judged text, and its signature is not valid for changed text.
    if (event.kind === 'thought') return []
    // Guardrails do not see pictures.
    if (event.delta.picture !== undefined) return [...(await this.#flush()), event]
    const { call } = event.delta
    if (call !== undefined) {
      this.#keep(call)
      return []
    }
    return await this.#words(event.delta)
  }

  /** Everything that is still held. */
  async rest(): Promise<ChatEvent[]> {
    const words = await this.#flush()
    const calls = [...this.#calls.values()]
    this.#calls.clear()
    if (calls.length === 0) return words
    const texts = await this.#judged(calls.map((call) => call.arguments))
    const shown = calls.map((call, at) => ({ ...call, arguments: texts[at] ?? '' }))
    return [...words, ...shown.map((call) => this.#delta({ call }))]
  }

  async #words(delta: ChatDelta): Promise<ChatEvent[]> {
    const kind = kindOf(delta)
    const before = kind === this.#kind ? [] : await this.#flush()
    this.#kind = kind
    this.#held += delta[kind] ?? ''
    if (this.#held.length < TAIL + STEP) return before
    const [judged = ''] = await this.#judged([this.#held])
    const cut = cutOf(judged, Math.max(0, judged.length - TAIL))
    this.#held = judged.slice(cut)
    return cut === 0 ? before : [...before, this.#delta({ [kind]: judged.slice(0, cut) })]
  }

  async #flush(): Promise<ChatEvent[]> {
    const held = this.#held
    this.#held = ''
    if (held === '') return []
    const [judged = ''] = await this.#judged([held])
    return judged === '' ? [] : [this.#delta({ [this.#kind]: judged })]
  }

  /** Empty texts need no call. */
  async #judged(texts: readonly string[]): Promise<readonly string[]> {
    return texts.every((text) => text === '') ? texts : await this.#judge(texts)
  }

  #keep(call: ToolCallDelta): void {
    const known = this.#calls.get(call.index)
    if (known === undefined) this.#kept.keepEntry(call.id ?? '', call.name ?? '', extraOf(call))
    this.#kept.keep(call.arguments)
    const text = (known?.arguments ?? '') + call.arguments
    this.#calls.set(call.index, { ...(known ?? call), arguments: text })
  }

  #delta(delta: ChatDelta): ChatEvent {
    return { kind: 'delta', choice: this.#index, delta }
  }
}

/** Unchanged; the members of providers are short and rare. */
function extraOf({ extra }: ToolCallDelta): string {
  return extra === undefined ? '' : JSON.stringify(extra)
}

function kindOf({ reasoning, refusal }: ChatDelta): TextKind {
  if (reasoning !== undefined) return 'reasoning'
  return refusal === undefined ? 'text' : 'refusal'
}

/** A character of two units stays whole. */
function cutOf(text: string, at: number): number {
  const unit = text.charCodeAt(at - 1)
  return unit >= 0xd800 && unit <= 0xdbff ? at - 1 : at
}
