/** The text of a user's number is the same on both sides, in each API and provider, or it is refused by name. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answer } from '../helpers/conversations/answered.ts'
import { send, wireOf } from '../helpers/conversations/asked.ts'
import { canonical } from '../helpers/conversations/json-text.ts'
import type { Case, Conversation } from '../helpers/conversations/model.ts'
import { UPSTREAMS } from '../helpers/conversations/upstream/index.ts'

const NUMBERS = ['1234567890123456789', '1.0', '-0', '1e400']
/** Ids that each vendor accepts. */
const ID = 'D681PevK1'

/** The APIs of clients, each with its tested upstreams; those that pass have the same API. */
const WAYS: readonly Way[] = [
  ...['chat', 'messages', 'responses', 'cursor'].map((api) => ({
    api,
    providers: Object.keys(UPSTREAMS),
    isNative: false,
  })),
  { api: 'responses', providers: ['openai', 'azure_openai', 'vllm'], isNative: true },
  { api: 'messages', providers: ['openai', 'vllm'], isNative: true },
]

interface Way {
  readonly api: string
  readonly providers: readonly string[]
  readonly isNative: boolean
}

/** Arguments, a result and schemas with the number. */
function aCase({ api, isNative }: Way, provider: string, number: string, stream: boolean): Case {
  const args = `{"id":${number},"deep":[{"n":${number}},${number}]}`
  const schema = `{"type":"object","properties":{"n":{"type":"number","default":${number}}}}`
  const conversation: Conversation = {
    model: UPSTREAMS[provider]?.models[0] ?? '',
    system: [],
    turns: [
      { who: 'user', texts: ['Hi'] },
      { who: 'model', text: '', calls: [{ id: ID, name: 'find', args }] },
      { who: 'tools', results: [{ id: ID, text: `{"found":[${number}]}` }] },
    ],
    tools: [{ name: 'find', description: 'Finds.', schema }],
  }
  const said = { text: '', calls: [{ id: 'D681PevK2', name: 'find', args }] }
  const style = { seed: 3 }
  return { api, provider, isNative, stream, conversation, answer: said, style, forgets: false }
}

/** A word for each place: `same`, `refused`, or the text that the number became. */
function placesOf(one: Case, number: string): Record<string, string> {
  const { api, provider, conversation, stream, isNative } = one
  const upstream = UPSTREAMS[provider]
  const wire = wireOf(api, provider, `numbers ${api} ${provider} ${number} ${stream}`, isNative)
  const went = send(wire, conversation, stream)
  if ('refused' in went)
    return { request: went.refused.includes(number) ? 'refused' : went.refused }
  const call = upstream?.read(went.body, went.sent.path).calls[0]
  const sent = conversation.turns.flatMap((turn) => ('calls' in turn ? turn.calls : []))[0]
  const came = answer(wire, went.request, went.sent.path, one)
  const heard = came.heard?.calls[0]?.args ?? String(came.failure)
  const compared = (meant: string | undefined, seen: string | undefined) =>
    canonical(meant ?? '') === canonical(seen ?? '') ? 'same' : String(seen)
  const format = formatOf(one, number)
  return {
    arguments: compared(canonical(sent?.args ?? ''), call?.args),
    result: call?.result?.includes(`[${number}]`) ? 'same' : String(call?.result),
    schema: hasDefault(went.body, number) ? 'same' : went.body,
    format,
    answer: compared(one.answer.calls[0]?.args, heard),
  }
}

function formatOf(one: Case, number: string): string {
  const { tools: _, ...rest } = one.conversation
  const format = `{"type":"object","properties":{"n":{"type":"number","default":${number}}},"required":["n"],"additionalProperties":false}`
  const plain = { ...rest, tools: [], turns: rest.turns.slice(0, 1), format }
  const went = send(wireOf(one.api, one.provider, 'format', one.isNative), plain, one.stream)
  if ('refused' in went) return /format/.test(went.refused) ? 'refused' : went.refused
  return hasDefault(went.body, number) ? 'same' : went.body
}

/** Also in a schema that is a text. */
function hasDefault(body: string, number: string): boolean {
  return new RegExp(`"default": ?${number.replaceAll('.', '\\.')}[,}]`).test(
    body.replaceAll('\\', ''),
  )
}

for (const way of WAYS) {
  const { api, providers, isNative } = way
  const name = isNative ? `${api} that pass` : api
  test(`${name}: numbers of arguments, results and schemas keep their text at every provider, whole and streamed`, (t) => {
    const changed: string[] = []
    for (const provider of providers) {
      const words = new Map<string, Set<string>>()
      for (const number of NUMBERS)
        for (const stream of [false, true]) {
          const places = Object.entries(placesOf(aCase(way, provider, number, stream), number))
          for (const [place, word] of places) {
            words.set(place, (words.get(place) ?? new Set()).add(word.slice(0, 60)))
            if (word !== 'same' && word !== 'refused')
              changed.push(
                `${provider} ${stream ? 'streamed' : 'whole'} ${place} ${number}: ${word}`,
              )
          }
        }
      const cells = [...words].map(([place, all]) => `${place} ${[...all].join('/')}`)
      t.diagnostic(`${name.padEnd(20)} ${provider.padEnd(13)} ${cells.join(' | ')}`)
    }
    assert.deepEqual(changed, [])
  })
}
