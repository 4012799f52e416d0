/**
 * The cost in the streams of chat completions and completions. A client that asks for usage gets it in the chunk with the
 * usage. Another client gets both in the last chunk: many programs cannot read a chunk without choices, or one after the
 * finish reason.
 */
import { isRecord, type Json, parsed, recordOf } from '../../json/values.ts'
import type { AnswerCost, CostWriter } from '../../wire/dialect.ts'
import { DATA, pricedEvents, withGw } from '../streamed-cost.ts'
import { usageOf } from './usage.ts'

const DONE = /(?<![^\r\n])data: ?\[DONE\]/

interface StreamOptions {
  readonly includeUsage: boolean
  readonly createdSeconds: number
}

type Cost = () => AnswerCost

/** `object`: the type of the chunks; `nothing`: the part of a choice without text. */
export function openCostsOf(object: string, nothing: Json) {
  const emptyChoice = { index: 0, ...nothing, logprobs: null, finish_reason: null }
  return ({ includeUsage, createdSeconds }: StreamOptions, cost: Cost): CostWriter => {
    const frame = { id: 'unknown', object, created: createdSeconds, model: '' }
    return includeUsage
      ? new InUsageChunk(frame, cost)
      : new InLastChunk({ ...frame, choices: [emptyChoice] }, cost)
  }
}

class InUsageChunk implements CostWriter {
  #last: Json
  #isStated = false
  readonly #cost: Cost

  constructor(frame: Json, cost: Cost) {
    this.#last = frame
    this.#cost = cost
  }

  write(text: string): string {
    const priced = pricedEvents(text, (event) => this.#carries(event), this.#cost)
    if (this.#isStated) return priced
    // The upstream has reported no usage.
    return priced.replace(DONE, (done) => {
      const chunk = stated(JSON.stringify({ ...this.#last, choices: [] }), this.#cost())
      return `data: ${chunk}\n\n${done}`
    })
  }

  #carries(event: Json): boolean {
    this.#last = event
    const carries = isRecord(event.usage)
    this.#isStated ||= carries
    return carries
  }
}

class InLastChunk implements CostWriter {
  /** The last event, until the next one or the end comes. */
  #held = ''
  readonly #frame: Json
  readonly #cost: Cost

  constructor(frame: Json, cost: Cost) {
    this.#frame = frame
    this.#cost = cost
  }

  write(text: string): string {
    if (text === '') return ''
    const before = this.#held
    this.#held = text
    if (!DONE.test(text)) return before
    this.#held = ''
    return this.#stated(before + text)
  }

  #stated(text: string): string {
    const last = text.matchAll(DATA).filter(isChunk).toArray().at(-1)
    const cost = this.#cost()
    if (last === undefined) return `data: ${stated(JSON.stringify(this.#frame), cost)}\n\n${text}`
    const [line, start = '', json = ''] = last
    return (
      text.slice(0, last.index) + start + stated(json, cost) + text.slice(last.index + line.length)
    )
  }
}

function isChunk([, , json = '']: readonly string[]): boolean {
  return isRecord(parsed(json))
}

/** The chunk with this usage and cost; its earlier values are replaced. */
function stated(json: string, cost: AnswerCost): string {
  const { usage: _usage, gw: _gw, ...event } = recordOf(parsed(json))
  const { usage } = cost
  return withGw(JSON.stringify({ ...event, ...(usage && { usage: usageOf(usage) }) }), cost)
}
