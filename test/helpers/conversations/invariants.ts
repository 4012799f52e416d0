/** The invariants of one request and its answer, and each violation as a short kind. */
import { complaintsOf, type Vendor } from '../vendors/index.ts'
import type { Came } from './answered.ts'
import type { Went } from './asked.ts'
import { canonical } from './json-text.ts'
import { type Case, type Conversation, PICTURE } from './model.ts'
import { passes } from './passes.ts'
import { UPSTREAMS, type Upstream } from './upstream/index.ts'
import { piecesOf, thinkingIn } from './upstream/pieces.ts'
import { meantBy, type Seen, squashed } from './upstream/seen.ts'

export interface Broken {
  readonly kind: string
  readonly detail: string
}

/** 1 and 3: the vendor accepts the request, and it means what the client meant, or a header names the rest. */
export function brokenByRequest(
  conversation: Conversation,
  provider: string,
  went: Extract<Went, { sent: unknown }>,
): Broken[] {
  const refused = complaintsOf(provider as Vendor, went.sent).map(({ rule, at, message }) => ({
    kind: `request: ${rule}`,
    detail: `${at}: ${message}`,
  }))
  const upstream = UPSTREAMS[provider] as Upstream
  const seen = upstream.read(went.body, went.sent.path)
  const meant = meantBy(conversation)
  return [
    ...refused,
    ...brokenMeaning(meant, seen, upstream, went.named),
    ...(conversation.isAutoMarked ? brokenMarks(meant, seen) : []),
    ...brokenNumbers(conversation, went.body),
  ]
}

/** Numbers of schemas. Tools that must not be called may be left out. */
function brokenNumbers({ tools, choice }: Conversation, body: string): Broken[] {
  if (choice === 'none' && !body.includes('"tools"')) return []
  const odd = ['9007199254740993', '1.0']
  const lost = odd.filter(
    (one) => tools.some(({ schema }) => schema.includes(one)) && !body.includes(one),
  )
  return lost.map((one) => ({ kind: 'meaning: number in a schema', detail: one }))
}

/** The client's marks, otherwise those of the gateway. */
function brokenMarks(meant: Seen, seen: Seen): Broken[] {
  const holds = meant.marks > 0 ? seen.marks <= meant.marks : seen.marks > 0 && seen.marks <= 4
  return holds ? [] : [{ kind: 'auto marks', detail: `${meant.marks} became ${seen.marks}` }]
}

function brokenMeaning(
  meant: Seen,
  seen: Seen,
  { takes }: Upstream,
  named: readonly string[],
): Broken[] {
  const out: Broken[] = []
  const names = named.join()
  const add = (what: string, detail: string) => out.push({ kind: `meaning: ${what}`, detail })
  for (const lane of ['system', 'user', 'model'] as const) {
    if (squashed(seen[lane]) !== squashed(meant[lane]))
      add(`text of ${lane}`, `${JSON.stringify(meant[lane])} became ${JSON.stringify(seen[lane])}`)
  }
  if (seen.pictures < meant.pictures && !/image|content|input/.test(names))
    add('picture', `${meant.pictures} became ${seen.pictures}`)
  if (takes.marks && seen.marks < Math.min(4, meant.marks) && !/cache/.test(names))
    add('cache mark', `${meant.marks} became ${seen.marks}`)
  if (takes.thinking && !/reasoning|thinking/.test(names))
    for (const thought of meant.thoughts)
      if (!squashed(seen.thinking).includes(squashed(thought))) add('thinking', thought)
  if (seen.calls.length !== meant.calls.length) {
    add('calls', `${meant.calls.length} became ${seen.calls.length}`)
    return out
  }
  const nameOf = (name: string) => meant.tools[seen.tools.indexOf(name)] ?? name
  for (const [index, call] of meant.calls.entries()) {
    const { name, args, result } = seen.calls[index] as (typeof seen.calls)[number]
    if (nameOf(name) !== call.name) add('name of a call', `${call.name} became ${name}`)
    if (args !== call.args) add('arguments', `${call.args} became ${args}`)
    if (call.result !== undefined && !isSameResult(call.result, result ?? ''))
      add('result', `${call.result} became ${result}`)
  }
  return out
}

function isSameResult(meant: string, seen: string): boolean {
  const wanted = squashed(meant)
  return (
    wanted === '' ||
    squashed(seen) === wanted ||
    squashed(seen) === `Error:${wanted}` ||
    canonical(meant) === canonical(seen)
  )
}

/** 2, 4 and 5: calls reach the client once and whole, the finish reason fits them, and nothing is lost. */
export function brokenByAnswer(one: Case, came: Came, used: ReadonlySet<string>): Broken[] {
  const { style, answer, stream } = one
  const isHarmed = stream && style.ending !== undefined
  if (isHarmed)
    return came.isWhole && came.broken === undefined
      ? [{ kind: `answer: ${style.ending} looks whole`, detail: '' }]
      : []
  const add = (kind: string, detail = '') => ({ kind: `answer: ${kind}`, detail })
  // Messages cannot hold pictures, and refuses them by name.
  const isRefused = answer.picture && one.api === 'messages' && /picture/.test(came.failure ?? '')
  if (came.failure !== undefined) return isRefused ? [] : [add('failure', came.failure)]
  if (came.broken !== undefined) return [add('the SDK raises', came.broken)]
  const { heard } = came
  if (heard === undefined || !came.isWhole || !heard.isWhole) return [add('a whole one looks cut')]
  const out: Broken[] = []
  if (squashed(heard.text) !== squashed(answer.text))
    out.push(add('text', `${answer.text} became ${heard.text}`))
  // A response has no pieces of reasoning between those of a call.
  const isResponse = came.said.startsWith('response.')
  const isPieced = stream && UPSTREAMS[one.provider]?.isChat && !isResponse
  const thought = isPieced ? thinkingIn(piecesOf(answer, style)) : (answer.thinking?.text ?? '')
  const words = heard.thinking?.text ?? ''
  if (squashed(words) !== squashed(thought)) out.push(add('thinking', `${thought} became ${words}`))
  if (answer.picture && !came.text.includes(PICTURE)) out.push(add('picture'))
  const ids = heard.calls.map(({ id }) => id)
  if (heard.calls.length !== answer.calls.length)
    out.push(add('calls', `${answer.calls.length} became ${heard.calls.length}`))
  else
    for (const [index, { name, args }] of answer.calls.entries()) {
      const call = heard.calls[index] as (typeof heard.calls)[number]
      if (call.name !== name) out.push(add('name of a call', `${name} became ${call.name}`))
      if (canonical(call.args || '{}') !== canonical(args || '{}'))
        out.push(add('arguments', `${args} became ${call.args}`))
    }
  if (!passes(one) && heard.calls.some(({ args }) => args === ''))
    out.push(add('arguments that are no JSON'))
  if (ids.some((id) => !id)) out.push(add('call without an id'))
  else if (new Set(ids).size < ids.length) out.push(add('one id for two calls', ids.join()))
  else if (ids.some((id) => used.has(id))) out.push(add('id of an earlier call', ids.join()))
  if (one.api === 'messages' && ids.some((id) => id && !/^[a-zA-Z0-9_-]+$/.test(id)))
    out.push(add('id with other letters', ids.join()))
  const isCounted = style.usage !== 'absent' && style.usage !== 'first'
  if (isCounted && came.counted !== '9, 5') out.push(add('usage', `9, 5 became ${came.counted}`))
  if (heard.endsWithCalls !== answer.calls.length > 0)
    out.push(add('finish', `ends with calls: ${heard.endsWithCalls}`))
  return out
}
