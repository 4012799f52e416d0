/** The texts of a request by their places, and the request with other texts there. */
import { rewritten } from '../body/rewritten.ts'
import type { ModelRequest } from '../inner-form.ts'
import { isRecord, listOf, recordOf } from '../json/values.ts'
import type { Said } from './contract.ts'

type Path = readonly (string | number)[]

/** Members of messages, of their parts and of their calls that are words. */
const SPOKEN = ['text', 'refusal', 'reasoning_content', 'reasoning', 'arguments', 'input'] as const

export interface PlacedText extends Said {
  /** In the body of the request. */
  readonly path: Path
}

/**
 * All words that a model reads: messages with their calls of tools and results, descriptions of tools, inputs of
 * embeddings, texts to continue, a query and its documents.
 */
export function textsOf(request: ModelRequest): PlacedText[] {
  const body = recordOf(request.body)
  const messages = listOf(body.messages).flatMap((message, index) =>
    messageTexts(recordOf(message), ['messages', index]),
  )
  const members =
    request.operation === 'rerank' ? ['query', 'documents'] : ['input', 'prompt', 'suffix']
  const inputs = members.flatMap((member) => inputTexts(body[member], [member]))
  return [...messages, ...toolTexts(body), ...inputs]
}

/** Whether some of its words are numbers of tokens, which nothing here can read. */
export function holdsTokens({ operation, body }: ModelRequest): boolean {
  if (operation !== 'completions' && operation !== 'embeddings') return false
  const inputs = operation === 'completions' ? body.prompt : body.input
  return Array.isArray(inputs) && typeof inputs[0] !== 'string'
}

function toolTexts(body: Readonly<Record<string, unknown>>): PlacedText[] {
  const described = (tool: unknown, ...path: Path) =>
    placed('system', recordOf(tool).description, [...path, 'description'])
  const tools = listOf(body.tools).map(recordOf)
  return [
    ...tools.flatMap(({ function: one }, at) => described(one, 'tools', at, 'function')),
    ...tools.flatMap(({ custom: one }, at) => described(one, 'tools', at, 'custom')),
    ...listOf(body.functions).flatMap((one, at) => described(one, 'functions', at)),
  ]
}

function messageTexts(message: Readonly<Record<string, unknown>>, path: Path): PlacedText[] {
  const { content } = message
  const role = String(message.role)
  const spoken = (value: unknown, ...below: Path) =>
    SPOKEN.flatMap((name) => placed(role, recordOf(value)[name], [...path, ...below, name]))
  const said =
    typeof content === 'string'
      ? placed(role, content, [...path, 'content'])
      : listOf(content).flatMap((part, at) => spoken(part, 'content', at))
  const calls = listOf(message.tool_calls).flatMap((call, at) => [
    ...spoken(recordOf(call).function, 'tool_calls', at, 'function'),
    ...spoken(recordOf(call).custom, 'tool_calls', at, 'custom'),
  ])
  return [...said, ...spoken(message), ...calls, ...spoken(message.function_call, 'function_call')]
}

function inputTexts(input: unknown, path: Path): PlacedText[] {
  if (typeof input === 'string') return placed('user', input, path)
  return listOf(input).flatMap((one, at) =>
    isRecord(one)
      ? placed('user', one.text, [...path, at, 'text'])
      : placed('user', one, [...path, at]),
  )
}

function placed(role: string, text: unknown, path: Path): PlacedText[] {
  return typeof text === 'string' && text !== '' ? [{ role, text, path }] : []
}

/** The same request with these texts in those places; it is written anew for every upstream. */
export function withTexts<Request extends ModelRequest>(
  request: Request,
  places: readonly PlacedText[],
  texts: readonly string[],
): Request {
  const changed = places.filter(({ text }, index) => (texts[index] ?? text) !== text)
  if (changed.length === 0) return request
  const body = { ...request.body } as Container
  const own = new Set<unknown>()
  for (const [index, { path, text }] of places.entries()) {
    const fresh = texts[index] ?? text
    if (fresh !== text) put(fresh, path, body, own)
  }
  return rewritten(request, body as unknown as Request['body'])
}

type Container = Record<string | number, unknown>

/** Copies what it changes, each list and object once: a request may hold tens of thousands of texts. */
function put(text: string, path: Path, body: Container, own: Set<unknown>): void {
  let place = body
  for (const step of path.slice(0, -1)) {
    const below = place[step]
    const copy = own.has(below) ? below : Array.isArray(below) ? [...below] : { ...Object(below) }
    own.add(copy)
    place[step] = copy
    place = copy as Container
  }
  place[path.at(-1) ?? ''] = text
}
