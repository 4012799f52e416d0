/** One request at one gateway: the facts of its answer that are compared. */
import { parseJson } from '../../dataplane/json/parse.ts'
import { isRecord, recordOf, textOf, valueBelow } from '../../dataplane/json/values.ts'
import type { RecordedRequest } from './recorded.ts'

export interface AnswerFacts {
  /** 0: no answer. */
  readonly status: number
  readonly model?: string | undefined
  readonly input_tokens?: number | undefined
  readonly output_tokens?: number | undefined
  readonly cost_usd?: number | undefined
  readonly ms: number
  /** Why there is no answer. */
  readonly error?: string
}

export interface Gateway {
  readonly url: string
  readonly key: string | undefined
  readonly timeoutMs: number
}

/** A longer answer is not read to its end. */
const ANSWER_MAX = 16 * 1024 * 1024

export async function answered(request: RecordedRequest, gateway: Gateway): Promise<AnswerFacts> {
  const { method, path, body } = request
  const headers = new Headers(body === undefined ? {} : { 'content-type': 'application/json' })
  if (gateway.key !== undefined) headers.set('authorization', `Bearer ${gateway.key}`)
  const startedAt = performance.now()
  const passed = () => Math.round(performance.now() - startedAt)
  try {
    const answer = await fetch(`${gateway.url.replace(/\/+$/, '')}${path}`, {
      method,
      headers,
      redirect: 'manual',
      signal: AbortSignal.timeout(gateway.timeoutMs),
      ...(body === undefined ? {} : { body }),
    })
    const text = await textIn(answer)
    return { status: answer.status, ...factsOf(text), ...costOf(answer, text), ms: passed() }
  } catch (error) {
    const cause = Object(error).cause
    return { status: 0, ms: passed(), error: String(Object(cause).code ?? Object(error).name) }
  }
}

async function textIn(answer: Response): Promise<string> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of answer.body ?? []) {
    bytes += part.length
    if (bytes > ANSWER_MAX) break
    parts.push(Buffer.from(part))
  }
  return Buffer.concat(parts).toString()
}

/** The last events of a stream that have a fact count; a whole answer is one event. */
function factsOf(text: string): Partial<AnswerFacts> {
  const events = text.startsWith('{') ? [text] : eventsIn(text)
  const facts: { model?: string; input_tokens?: number; output_tokens?: number } = {}
  for (const event of events) {
    const tree = parsed(event)
    for (const place of [tree, valueBelow(tree, 'response'), valueBelow(tree, 'message')]) {
      const model = textOf(valueBelow(place, 'model'))
      if (model !== undefined) facts.model = model
      const usage = recordOf(valueBelow(place, 'usage'))
      const input = usage.prompt_tokens ?? usage.input_tokens
      const output = usage.completion_tokens ?? usage.output_tokens
      if (typeof input === 'number') facts.input_tokens = input
      if (typeof output === 'number') facts.output_tokens = output
    }
  }
  return facts
}

function eventsIn(text: string): string[] {
  return text.split('\n').flatMap((line) => {
    const data = /^data: ?(\{.*\})\s*$/.exec(line)?.[1]
    return data === undefined ? [] : [data]
  })
}

/** The gateways state it in a header, or in the usage of the answer. */
const COST_HEADERS = ['x-gw-cost-usd', 'x-litellm-response-cost']

function costOf(answer: Response, text: string): Partial<AnswerFacts> {
  const header = COST_HEADERS.map((name) => answer.headers.get(name)).find((one) => one !== null)
  const last = text.startsWith('{') ? text : (eventsIn(text).at(-1) ?? '')
  const usage = recordOf(valueBelow(parsed(last), 'usage'))
  const cost = Number(header ?? usage.cost_usd ?? usage.cost ?? Number.NaN)
  return Number.isFinite(cost) ? { cost_usd: cost } : {}
}

function parsed(text: string): unknown {
  try {
    const value: unknown = parseJson(text)
    return isRecord(value) ? value : undefined
  } catch {
    return undefined
  }
}
