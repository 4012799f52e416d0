/** One conversation over one pair of wires: the request, its answer, and a second turn with that answer. */
import { answer, type Came } from './answered.ts'
import { send, type Wire, wireOf } from './asked.ts'
import { idFor } from './client/messages.ts'
import { type Broken, brokenByAnswer, brokenByRequest } from './invariants.ts'
import type { Answer, Case, Conversation, Turn } from './model.ts'
import { UPSTREAMS, type Upstream } from './upstream/index.ts'

export interface Tried {
  readonly broken: readonly Broken[]
  /** The gateway's refusal of the conversation, by name. */
  readonly refused?: string
  /** The texts in both directions, for a fixture. */
  readonly shown: Readonly<Record<string, string>>
}

let tenants = 0

export function tryCase(one: Case): Tried {
  const wire = wireOf(one.api, one.provider, `tenant-${tenants++}`, one.isNative)
  const went = send(wire, one.conversation, one.stream)
  if ('refused' in went) return { broken: [], refused: went.refused, shown: { client: went.text } }
  const broken = brokenByRequest(one.conversation, one.provider, went)
  const known = { ...one, answer: namedAsSent(one, went.body, went.sent.path) }
  const came = answer(wire, went.request, went.sent.path, known)
  const answered = brokenByAnswer(one, came, usedIn(one))
  const shown = { client: went.text, upstream: went.body, said: came.said, came: came.text }
  if (answered.length > 0 || came.heard === undefined || !came.isWhole)
    return { broken: [...broken, ...answered], shown }
  const second = secondTurn(one, came)
  if (second === undefined) return { broken, shown }
  return tryAgain(wire, one, second, { broken, shown }, went.body)
}

/** The model calls tools by the names that it was sent. */
function namedAsSent(
  { answer: said, conversation, provider }: Case,
  body: string,
  path: string,
): Answer {
  const { tools } = (UPSTREAMS[provider] as Upstream).read(body, path)
  const names = new Map(conversation.tools.map(({ name }, at) => [name, tools[at] ?? name]))
  return {
    ...said,
    calls: said.calls.map((call) => ({ ...call, name: names.get(call.name) ?? call.name })),
  }
}

function usedIn({ api, conversation }: Case): Set<string> {
  const calls = conversation.turns.flatMap((turn) => (turn.who === 'model' ? turn.calls : []))
  return new Set(calls.map(({ id }) => (api === 'messages' ? idFor(id) : id)))
}

/** 6: faults of the second turn that the first one does not have. */
function tryAgain(
  wire: Wire,
  one: Case,
  second: Conversation,
  { broken, shown }: Tried,
  first: string,
): Tried {
  const went = send(wire, second, one.stream)
  const known = new Set(broken.map(({ kind }) => kind))
  const list =
    'refused' in went
      ? [{ kind: 'second turn: refused', detail: went.refused }]
      : [...brokenByRequest(second, one.provider, went), ...brokenThinking(one, first, went.body)]
  const fresh = list.filter(({ kind }) => !known.has(kind))
  const more = fresh.map((each) => ({ ...each, detail: `In the second turn: ${each.detail}` }))
  const upstream = 'refused' in went ? {} : { second: went.body }
  return { broken: [...broken, ...more], shown: { ...shown, ...upstream, secondClient: went.text } }
}

function secondTurn(
  { api, conversation, answer: said, forgets }: Case,
  { heard }: Came,
): Conversation | undefined {
  if (heard === undefined || heard.items.length === 0) return undefined
  const calls = said.calls.map((call, index) => ({ ...call, id: heard.calls[index]?.id ?? '' }))
  const { thinking: _, picture, ...rest } = said
  // `images` is not a member of OpenAI's own message.
  const painted = picture && !(forgets && api === 'chat') ? { picture } : {}
  const unsigned =
    !forgets && said.thinking && !said.thinking.signature ? { thinking: said.thinking } : {}
  const given: Turn = {
    who: 'given',
    items: heard.items,
    answer: { ...rest, ...painted, ...unsigned, calls },
  }
  const results = calls.map(({ id }) => ({ id, text: 'done' }))
  const next: Turn =
    calls.length > 0 ? { who: 'tools', results } : { who: 'user', texts: ['Go on.'] }
  return { ...conversation, turns: [...conversation.turns, given, next] }
}

const THINKS = /"thinking":\{"type":"(enabled|adaptive)"/

/** Signed thinking goes back to the model that signed it, which may continue it. */
function brokenThinking({ answer: said }: Case, first: string, second: string): Broken[] {
  const { thinking, calls } = said
  if (thinking?.signature === undefined || calls.length === 0) return []
  if (THINKS.test(first) && !THINKS.test(second))
    return [{ kind: 'meaning: thinking ends after calls', detail: '' }]
  const isWanted = THINKS.test(second) || second.includes('"functionCall"')
  return !isWanted || second.includes(thinking.signature)
    ? []
    : [{ kind: 'meaning: signature', detail: thinking.signature }]
}
