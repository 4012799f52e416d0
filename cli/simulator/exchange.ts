/** One request and its answer: reads the body, writes JSON, and notices that the client disconnected. */
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { z } from 'zod'
import { parseJson } from '../../dataplane/json/parse.ts'
import { SimulatedRefusal } from './refusal.ts'

const BODY_BYTES_MAX = 67_108_864

export class SimulatedExchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** Aborted when the connection closes or the answer is complete; in both cases the client reads no more. */
  readonly left: AbortSignal

  constructor(request: IncomingMessage, response: ServerResponse) {
    this.request = request
    this.response = response
    const leaving = new AbortController()
    this.left = leaving.signal
    response.once('close', () => leaving.abort())
  }

  /** Throws a refusal of status 400 or 413. */
  async read<Value>(schema: z.ZodType<Value>): Promise<Value> {
    const body = await this.#readJson()
    const result = schema.safeParse(body)
    if (result.success) return result.data
    const [issue] = result.error.issues
    const message = issue?.message ?? 'It is not right.'
    const param = issue?.path.join('.') ?? ''
    if (param === '') throw new SimulatedRefusal(400, message)
    throw new SimulatedRefusal(400, `${param}: ${message}`, { param })
  }

  sendJson(value: unknown, status = 200): void {
    // The newline is for people at a terminal.
    this.send(`${JSON.stringify(value)}\n`, 'application/json', status)
  }

  send(text: string, type: string, status = 200): void {
    this.response.writeHead(status, { 'content-type': type })
    this.response.end(text)
  }

  refuse(refusal: SimulatedRefusal): void {
    const { status } = refusal
    // The rest of a too large body stays unread, so the connection cannot be used again.
    if (status === 413) this.response.setHeader('connection', 'close')
    if (status === 429 || status === 503) this.response.setHeader('retry-after', '1')
    this.sendJson(refusal.body, status)
  }

  openStream(): void {
    this.response.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache',
    })
    this.response.flushHeaders()
  }

  /** Resolves when there is room for more; rejects when the client disconnects. */
  async write(text: string): Promise<void> {
    this.left.throwIfAborted()
    if (!this.response.write(text)) await once(this.response, 'drain', { signal: this.left })
  }

  async #readJson(): Promise<unknown> {
    const pieces: Buffer[] = []
    let size = 0
    // The loop must not close the connection when it ends early, because the refusal is still to be sent.
    const body: AsyncIterable<Buffer> = this.request.iterator({ destroyOnReturn: false })
    for await (const piece of body) {
      size += piece.length
      if (size > BODY_BYTES_MAX) throw new SimulatedRefusal(413, 'The body is larger than 64 MiB.')
      pieces.push(piece)
    }
    try {
      return parseJson(Buffer.concat(pieces).toString('utf8'))
    } catch {
      throw new SimulatedRefusal(400, 'The body is not valid JSON.')
    }
  }
}
