/** A caller that records its result: a whole answer, a clear error, or something worse. */
import { Agent, type IncomingMessage, request } from 'node:http'
import { WHOLE_TEXT } from './speech.ts'

/**
 * `answered`: the whole text and a proper end. `error`: an error answer, or an error event and an
 * abort. `aborted`: the connection broke without an error. `truncated`: a proper end of an
 * incomplete answer, or an error that ends like an answer. `hang`: nothing within the time.
 */
export type Ending = 'answered' | 'error' | 'aborted' | 'truncated' | 'hang'

export interface Seen {
  readonly ending: Ending
  readonly status: number
  /** The code of the error, if there was one. */
  readonly code: string | undefined
  readonly words: number
  readonly model: string | undefined
  readonly usage: unknown
  /** Whether an error event came and the connection was cut after it. */
  readonly errorEvent: boolean
  readonly milliseconds: number
}

export interface Question {
  readonly url: string
  readonly key: string
  readonly route: string
  readonly stream: boolean
  readonly hangMs?: number
  /** Called with each piece of the answer's body. */
  readonly onPiece?: (piece: string) => void
}

interface Chunk {
  readonly model?: string
  readonly usage?: unknown
  readonly error?: { readonly code?: string }
  readonly choices?: readonly {
    readonly delta?: { readonly content?: string }
    readonly message?: { readonly content?: string }
    readonly finish_reason?: string | null
  }[]
}

const HANG_MS = 120_000
const agent = new Agent({ keepAlive: true, maxSockets: 256 })

export async function ask(question: Question): Promise<Seen> {
  const began = performance.now()
  const heard = await hear(question)
  return { ...judge(heard, question.stream), milliseconds: performance.now() - began }
}

interface Heard {
  readonly how: 'ended' | 'broken' | 'late'
  readonly status: number
  readonly text: string
}

function hear({ url, key, route, stream, hangMs = HANG_MS, onPiece }: Question): Promise<Heard> {
  const body = JSON.stringify({
    model: route,
    messages: [{ role: 'user', content: 'Say sixty words.' }],
    ...(stream && { stream, stream_options: { include_usage: true } }),
  })
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const signal = AbortSignal.timeout(hangMs)
  return new Promise((resolve) => {
    let text = ''
    let status = 0
    const over = (how: Heard['how']) =>
      resolve({ how: signal.aborted ? 'late' : how, status, text })
    const options = { method: 'POST', agent, headers, signal }
    const outgoing = request(`${url}/v1/chat/completions`, options, (incoming: IncomingMessage) => {
      status = incoming.statusCode ?? 0
      incoming.setEncoding('utf8').on('data', (piece: string) => {
        text += piece
        onPiece?.(piece)
      })
      incoming.on('end', () => over(incoming.complete ? 'ended' : 'broken'))
      incoming.on('error', () => over('broken'))
    })
    outgoing.on('error', () => over('broken'))
    outgoing.end(body)
  })
}

function judge({ how, status, text }: Heard, stream: boolean): Omit<Seen, 'milliseconds'> {
  const isStream = stream && status === 200
  const chunks = isStream ? eventsOf(text) : [parsed(text) ?? {}]
  const choices = chunks.flatMap((chunk) => chunk.choices ?? [])
  const said = choices
    .map(({ delta, message }) => delta?.content ?? message?.content ?? '')
    .join('')
  const error = chunks.find((chunk) => chunk.error !== undefined)?.error
  const finished = choices.some(({ finish_reason }) => typeof finish_reason === 'string')
  const whole = said === WHOLE_TEXT && finished && (!isStream || text.includes('data: [DONE]\n\n'))
  return {
    ending: endingOf(how, error !== undefined, whole, isStream),
    status,
    code: error?.code,
    words: said === '' ? 0 : said.split(' ').length,
    model: chunks.find((chunk) => chunk.model !== undefined)?.model,
    usage: chunks.find((chunk) => chunk.usage)?.usage,
    errorEvent: isStream && error !== undefined && how === 'broken',
  }
}

function endingOf(how: Heard['how'], failed: boolean, whole: boolean, isStream: boolean): Ending {
  if (how === 'late') return 'hang'
  if (failed) return isStream && how === 'ended' ? 'truncated' : 'error'
  if (how === 'broken') return 'aborted'
  return whole ? 'answered' : 'truncated'
}

/** Skips events that are not JSON, as clients do. */
function eventsOf(text: string): Chunk[] {
  const events = text.split('\n\n').map((event) => /^data: (.*)$/m.exec(event)?.[1])
  return events.map((data) => parsed(data ?? '')).filter((chunk) => chunk !== undefined)
}

function parsed(text: string): Chunk | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
