/** A call that the gateway makes to itself, in memory: no connection carries it, so no client can send one. */
import type { AnswerListener, Call, Outgoing } from '../call/call.ts'

export interface OwnRequest {
  readonly url: string
  readonly contentType: string
  readonly body: Buffer
}

export interface OwnAnswer {
  readonly status: number
  /** By lower-case name. */
  readonly headers: ReadonlyMap<string, string>
  readonly body: Buffer
}

class OwnOutgoing implements Outgoing {
  readonly needsDrain = false
  readonly unwritten = 0
  readonly untaken = 0
  readonly isQueued = false
  answer: OwnAnswer | undefined
  #listener: AnswerListener | undefined

  tell(listener: AnswerListener): void {
    this.#listener = listener
  }

  sendWhole(status: number, headers: string[], body: string | Buffer): void {
    const named = new Map<string, string>()
    for (let at = 0; at < headers.length; at += 2)
      named.set((headers[at] ?? '').toLowerCase(), headers[at + 1] ?? '')
    this.answer = { status, headers: named, body: Buffer.from(body) }
    queueMicrotask(() => this.leave())
  }

  /** As a client that disconnects: work that runs for the answer ends. */
  leave(): void {
    this.#listener?.closed()
  }

  begin(): void {}

  write(): boolean {
    return true
  }

  end(): void {
    this.leave()
  }

  cut(): void {
    this.leave()
  }

  destroy(): void {
    this.leave()
  }
}

export interface OwnCall {
  readonly call: Call
  /** undefined before the end. */
  answer(): OwnAnswer | undefined
  leave(): void
}

export function ownCall(
  { url, contentType, body }: OwnRequest,
  key: string,
  { id, receivedAt }: Pick<Call, 'id' | 'receivedAt'>,
): OwnCall {
  const outgoing = new OwnOutgoing()
  const headers: Readonly<Record<string, string>> = {
    authorization: `Bearer ${key}`,
    'content-type': contentType,
    'content-length': String(body.length),
  }
  const incoming: Call['incoming'] = {
    method: 'POST',
    url,
    header: (name) => headers[name],
    peerAddress: undefined,
    httpVersion: '1.1',
    certificate: undefined,
    rawHeaders: Object.entries(headers).flat(),
    complete: true,
    answerLast() {},
    takeWhole: () => body,
    takeBody() {},
    askForBody() {},
  }
  const call = { id, receivedAt, incoming, outgoing }
  return { call, answer: () => outgoing.answer, leave: () => outgoing.leave() }
}
