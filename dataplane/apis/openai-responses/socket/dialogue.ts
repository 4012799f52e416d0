/** One WebSocket of this API. The gateway stores the last response, so that the next message can continue it. */
import type { Bodies, HeldBody } from '../../../body/bodies.ts'
import {
  isRecord,
  type Json,
  listOf,
  parsedExactly,
  recordOf,
  textOf,
} from '../../../json/values.ts'
import type { Dialogue, DialogueTurn, Facts, Visit } from '../../../request/api.ts'
import { handle, type Work } from '../../../request/pipeline.ts'
import type { ChatRequest } from '../../../wire/inner-form.ts'
import { openAiResponsesDialect } from '../dialect.ts'
import { isSealed } from '../kept/ids.ts'
import { respond } from '../kept/work.ts'
import { sessionOf } from '../session.ts'
import { joined, type LastResponse, type Message, readMessage } from './message.ts'
import { warmUp } from './warm-up.ts'

export class ResponsesDialogue implements Dialogue {
  readonly #keeping: Bodies
  #last: LastResponse | undefined
  #held: HeldBody | undefined

  constructor(keeping: Bodies) {
    this.#keeping = keeping
  }

  get last(): LastResponse | undefined {
    return this.#last
  }

  turn(): DialogueTurn {
    return new ResponsesTurn(this)
  }

  close(): void {
    this.#held?.leave()
    this.#held = undefined
    this.#last = undefined
  }

  /** Stores nothing larger than a request may be, and nothing if there is no room. */
  keep(last: LastResponse, tenant: string, bytesMax: number): void {
    this.close()
    if (last.items.length > bytesMax) return
    const held = this.#keeping.enter(tenant)
    if (held.grow(last.items.length, bytesMax) === undefined) {
      this.#held = held
      this.#last = last
    } else held.leave()
  }
}

class ResponsesTurn implements DialogueTurn {
  members = ''
  readonly #dialogue: ResponsesDialogue
  #message: Message | undefined
  #visit: Visit | undefined

  constructor(dialogue: ResponsesDialogue) {
    this.#dialogue = dialogue
  }

  async bodyOf(bytes: Buffer): Promise<Buffer> {
    this.#message = await readMessage(bytes, this.#dialogue.last, (streamId) => {
      if (streamId !== undefined) this.members = `"stream_id":${JSON.stringify(streamId)},`
    })
    return this.#message.body
  }

  run(visit: Visit): Promise<void> {
    this.#visit = visit
    const work: Work = (applicant, dialect, visit) => {
      // The dialect has read it.
      sessionOf(applicant.request as ChatRequest).previous = this.#message?.previous
      return (this.#message?.isWarmUp === true ? warmUp : respond)(applicant, dialect, visit)
    }
    return handle(visit, openAiResponsesDialect, work)
  }

  firstMembers(facts: Facts): string {
    return `"headers":${JSON.stringify(facts)},`
  }

  /** After a failed response, the previous one stays. */
  ended(data: Buffer | undefined): void {
    const { trace, active } = this.#visit ?? {}
    const event = data === undefined ? {} : recordOf(parsedExactly(data.toString()))
    const { id, status, output } = recordOf(event.response)
    const said = this.#message?.items
    if (typeof id !== 'string' || status === 'failed' || said === undefined) return
    const bytesMax = active?.snapshot.section.gateway.max_request_bytes ?? 0
    // An upstream stores it, and gets this id.
    if (isSealed(id)) this.#dialogue.close()
    else
      this.#dialogue.keep(
        { id, items: joined(said, itemsOf(output)) },
        trace?.tenant ?? '',
        bytesMax,
      )
  }
}

/** Kinds of items that an upstream accepts without the id of their answer. */
const WITHOUT_ID: ReadonlySet<unknown> = new Set(['custom_tool_call', 'function_call', 'message'])

/** The output as input. Thinking goes back only if it is sealed, because no upstream has stored it. */
function itemsOf(output: unknown): Buffer {
  const items = listOf(output).filter(isRecord).filter(canGoBack)
  return Buffer.from(items.map((item) => JSON.stringify(asInput(item))).join(','))
}

function canGoBack({ type, encrypted_content: sealed }: Json): boolean {
  return type !== 'reasoning' || textOf(sealed) !== undefined
}

function asInput(item: Json): Json {
  if (!WITHOUT_ID.has(item.type)) return item
  const { id: _, ...rest } = item
  return rest
}
