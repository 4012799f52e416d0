/** The texts of the faulty provider: refusals, whole answers and streams, correct and faulty. */
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'

/** How an answer goes wrong; empty: it does not. */
export interface Manner {
  /**
   * The connection breaks after this many words; for an answer that is not a stream, after a part
   * of it.
   */
  readonly cutAfter?: number
  /** How it breaks; by default a proper close. */
  readonly cutBy?: 'close' | 'reset' | 'middle_of_event' | 'garbage' | 'error_event'
  /**
   * After this many words nothing more is sent; for an answer that is not a stream, after its head.
   */
  readonly stallAfter?: number
  /**
   * An event that is not JSON comes before this word; an answer that is not a stream is not JSON.
   */
  readonly brokenAt?: number
  readonly omitsDone?: boolean
  /** Before the first word. */
  readonly slowMs?: number
  /** Refuses a conversation whose last message is the assistant's. */
  readonly refusesPrefill?: boolean
  /** Never ends, with a pause of this many milliseconds between words. */
  readonly endlessMs?: number
  /** Never ends, with events of this many bytes, as fast as they are read. */
  readonly floodBytes?: number
}

export interface ToldUsage {
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly total_tokens: number
}

interface Question {
  readonly model: string
  readonly stream_options?: { readonly include_usage?: boolean }
  readonly messages: readonly { readonly role: string }[]
}

/** The whole answer of every service; a truncated answer has fewer words. */
export const WORDS: readonly string[] = Array.from({ length: 60 }, (_, index) => `word${index}`)
export const WHOLE_TEXT = WORDS.join(' ')

const PROMPT_TOKENS = 7
const USAGE: ToldUsage = {
  prompt_tokens: PROMPT_TOKENS,
  completion_tokens: WORDS.length,
  total_tokens: PROMPT_TOKENS + WORDS.length,
}
const PREFILL = { status: 400, code: 'invalid_prefill' }
const PIECE_SHARE = 0.6

export function refuse(
  outgoing: ServerResponse,
  refusal: { status: number; code: string; retryAfterSeconds?: number },
): void {
  const { status, code, retryAfterSeconds } = refusal
  const type = status < 500 ? 'invalid_request_error' : 'server_error'
  const error = { message: `refused: ${code}`, type, param: null, code }
  const headers = retryAfterSeconds === undefined ? {} : { 'retry-after': `${retryAfterSeconds}` }
  outgoing.writeHead(status, { 'content-type': 'application/json', ...headers })
  outgoing.end(JSON.stringify({ error }))
}

/** Resolves with the reported usage if the answer was sent to its end. */
export async function answerWhole(
  outgoing: ServerResponse,
  { model, messages }: Question,
  manner: Manner,
): Promise<ToldUsage | undefined> {
  if (rejectsPrefill(messages, manner)) {
    refuse(outgoing, PREFILL)
    return undefined
  }
  const message = { role: 'assistant', content: WHOLE_TEXT }
  const choices = [{ index: 0, message, finish_reason: 'stop' }]
  const answer = { id: 'c1', object: 'chat.completion', created: 1, model, choices, usage: USAGE }
  const body = Buffer.from(JSON.stringify(answer))
  const piece = body.subarray(0, Math.floor(body.length * PIECE_SHARE))
  const sent = manner.brokenAt === undefined ? body : Buffer.concat([piece, Buffer.from('"oops')])
  outgoing.writeHead(200, {
    'content-type': 'application/json',
    'content-length': sent.length,
  })
  if (manner.cutAfter !== undefined) {
    outgoing.write(piece, () => breakOff(outgoing, manner.cutBy))
  } else if (manner.stallAfter !== undefined || manner.endlessMs !== undefined) {
    outgoing.flushHeaders()
  } else {
    outgoing.end(sent)
    return manner.brokenAt === undefined ? USAGE : undefined
  }
  return undefined
}

/** Resolves with the reported usage if the stream was sent to its end. */
export async function streamAnswer(
  outgoing: ServerResponse,
  { model, messages, stream_options: options }: Question,
  manner: Manner,
): Promise<ToldUsage | undefined> {
  if (rejectsPrefill(messages, manner)) {
    refuse(outgoing, PREFILL)
    return undefined
  }
  outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
  outgoing.flushHeaders()
  if (manner.slowMs !== undefined) await delay(manner.slowMs, undefined, { ref: false })
  outgoing.write(event(model, { role: 'assistant', content: '' }))
  if (manner.floodBytes !== undefined) return flood(outgoing, model, manner.floodBytes)
  if (manner.endlessMs !== undefined) return dripForEver(outgoing, model, manner.endlessMs)
  for (const [index, word] of WORDS.entries()) {
    if (index === manner.stallAfter) return undefined
    if (index === manner.cutAfter) {
      // The written bytes must be sent before the connection breaks.
      setImmediate(() => breakOff(outgoing, manner.cutBy))
      return undefined
    }
    if (index === manner.brokenAt) outgoing.write('data: {"choices":[{"delta":{"content": \n\n')
    outgoing.write(event(model, { content: index === 0 ? word : ` ${word}` }))
  }
  outgoing.write(event(model, {}, 'stop'))
  const tellsUsage = options?.include_usage === true
  if (tellsUsage)
    outgoing.write(`data: ${JSON.stringify({ model, choices: [], usage: USAGE })}\n\n`)
  outgoing.end(manner.omitsDone ? '' : 'data: [DONE]\n\n')
  return tellsUsage ? USAGE : undefined
}

function rejectsPrefill(messages: Question['messages'], { refusesPrefill }: Manner): boolean {
  return refusesPrefill === true && messages.at(-1)?.role === 'assistant'
}

function event(model: string, delta: object, finish: string | null = null): string {
  const choices = [{ index: 0, delta, finish_reason: finish }]
  const chunk = { id: 'c1', object: 'chat.completion.chunk', created: 1, model, choices }
  return `data: ${JSON.stringify(chunk)}\n\n`
}

function breakOff({ socket }: ServerResponse, by: Manner['cutBy'] = 'close'): void {
  if (by === 'reset') socket?.resetAndDestroy()
  else if (by === 'garbage') socket?.end('no chunk\r\n')
  else if (by === 'middle_of_event') socket?.end('40\r\ndata: {"choices":[{"index":0,"delta"')
  else if (by === 'error_event') socket?.end(chunked('data: {"error":{"message":"no memory"}}\n\n'))
  else socket?.end()
}

function chunked(text: string): string {
  return `${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`
}

async function flood(outgoing: ServerResponse, model: string, bytes: number): Promise<undefined> {
  const text = event(model, { content: 'x'.repeat(bytes) })
  const { signal, left } = leaving(outgoing)
  while (!signal.aborted) {
    if (!outgoing.write(text)) await once(outgoing, 'drain', { signal }).catch(left)
  }
}

async function dripForEver(
  outgoing: ServerResponse,
  model: string,
  pauseMs: number,
): Promise<undefined> {
  const { signal, left } = leaving(outgoing)
  while (!signal.aborted) {
    outgoing.write(event(model, { content: 'word ' }))
    await delay(pauseMs, undefined, { signal }).catch(left)
  }
}

/** Aborted when the peer has disconnected. */
function leaving(outgoing: ServerResponse) {
  const controller = new AbortController()
  if (outgoing.destroyed) controller.abort()
  outgoing.on('close', () => controller.abort())
  return { signal: controller.signal, left: () => undefined }
}
