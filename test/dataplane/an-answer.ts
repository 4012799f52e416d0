/** The client's side of an answer, in memory: the data sent to it, and the state of its connection. */
import { openAiWire } from '../../dataplane/apis/openai/wire.ts'
import { Deadlines } from '../../dataplane/base/clock.ts'
import type { AnswerListener, Call, Outgoing } from '../../dataplane/call/call.ts'
import { ClientResponse } from '../../dataplane/request/response.ts'
import { aClock } from '../helpers/clock.ts'

export class Heard implements Outgoing {
  /** One entry a call, the bytes of a piece as text. */
  readonly calls: string[] = []
  /** The headers of the whole answer or of the stream, by name. */
  head: Readonly<Record<string, string>> = {}
  status = 0
  body = ''
  needsDrain = false
  unwritten = 0
  untaken = 0
  isQueued = false
  listener: AnswerListener = { closed() {}, drained() {}, turned() {} }

  tell(listener: AnswerListener): void {
    this.listener = listener
  }

  sendWhole(status: number, headers: string[], body: string | Buffer): void {
    this.calls.push('whole')
    this.status = status
    this.#take(headers)
    this.body += body
  }

  begin(headers: string[]): void {
    this.calls.push('begin')
    this.status = 200
    this.#take(headers)
  }

  write(piece: string | Buffer): boolean {
    this.calls.push('write')
    this.body += piece
    return !this.needsDrain
  }

  end(): void {
    this.calls.push('end')
  }

  cut(): void {
    this.calls.push('cut')
  }

  destroy(): void {
    this.calls.push('destroy')
  }

  #take(headers: readonly string[]): void {
    for (let at = 0; at < headers.length; at += 2)
      this.head = { ...this.head, [headers[at] ?? '']: headers[at + 1] ?? '' }
  }
}

/** A call whose body has arrived, except for the given parts; `heard` is its client. */
export function aCall(incoming: Partial<Call['incoming']> = {}, receivedAt = 0) {
  const heard = new Heard()
  const call: Call = {
    id: 'r-1',
    receivedAt,
    outgoing: heard,
    incoming: {
      method: 'POST',
      url: '/v1/chat/completions',
      header: () => undefined,
      certificate: undefined,
      peerAddress: undefined,
      httpVersion: '1.1',
      rawHeaders: [],
      complete: true,
      answerLast() {},
      takeWhole: () => undefined,
      takeBody() {},
      askForBody() {},
      ...incoming,
    },
  }
  return { call, heard }
}

/** A response without content, its client, and their clock. */
export function anAnswer(incoming: Partial<Call['incoming']> = {}) {
  const clock = aClock()
  const deadlines = new Deadlines(clock)
  const { call, heard } = aCall(incoming, clock.now())
  const response = new ClientResponse(call, openAiWire, { clock, deadlines }, [])
  const pass = (ms: number) => {
    clock.pass(ms)
    deadlines.sweep()
  }
  return { response, heard, deadlines, pass }
}
