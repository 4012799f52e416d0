/** Conversations of many messages: twice as many take at most twice the work to write for an upstream. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { anthropicMessagesDialect } from '../../../dataplane/apis/anthropic-messages/dialect.ts'
import { openAiChatDialect } from '../../../dataplane/apis/openai-chat/dialect.ts'
import { openAiResponsesDialect } from '../../../dataplane/apis/openai-responses/dialect.ts'
import { parseRequest } from '../../../dataplane/body/request.ts'
import { PROVIDERS } from '../../../dataplane/providers/index.ts'
import { pairOf } from '../../../dataplane/translation/pair.ts'
import type { Dialect } from '../../../dataplane/wire/dialect.ts'
import { someSettings } from '../../helpers/providers/a-request.ts'

type Shape = (count: number) => object

const many = (count: number, ...ones: ((at: number) => object)[]) =>
  Array.from({ length: count }, (_, at) => ones.map((one) => one(at))).flat()
const user = () => ({ role: 'user', content: 'hi' })
const assistant = () => ({ role: 'assistant', content: 'hi' })
const callOf = (at: number) => ({
  id: `c${at}`,
  type: 'function',
  function: { name: 'f', arguments: '{}' },
})
const calls = (at: number) => ({ role: 'assistant', content: null, tool_calls: [callOf(at)] })
const answers = (at: number) => ({ role: 'tool', tool_call_id: `c${at}`, content: 'x' })
const text = () => ({ type: 'text', text: 'hi' })

const CHAT: Readonly<Record<string, Shape>> = {
  'messages of one role': (count) => ({ messages: many(count, user) }),
  instructions: (count) => ({
    messages: [...many(count, () => ({ role: 'developer', content: 'hi' })), user()],
  }),
  turns: (count) => ({ messages: many(count, user, assistant) }),
  'calls of tools': (count) => ({ messages: [user(), ...many(count, calls, answers)] }),
  'calls in one message': (count) => ({
    messages: [
      user(),
      { role: 'assistant', content: null, tool_calls: many(count, callOf) },
      ...many(count, answers),
    ],
  }),
  parts: (count) => ({ messages: [{ role: 'user', content: many(count, text) }] }),
}
const use = (at: number) => ({ type: 'tool_use', id: `c${at}`, name: 'f', input: {} })
const result = (at: number) => ({ type: 'tool_result', tool_use_id: `c${at}`, content: 'x' })
const MESSAGES: Readonly<Record<string, Shape>> = {
  turns: (count) => ({ max_tokens: 9, messages: many(count, user, assistant) }),
  'calls of tools': (count) => ({
    max_tokens: 9,
    messages: [
      user(),
      { role: 'assistant', content: many(count, use) },
      { role: 'user', content: many(count, result) },
    ],
  }),
}
const called = (at: number) => ({
  type: 'function_call',
  call_id: `c${at}`,
  name: 'f',
  arguments: '{}',
})
const output = (at: number) => ({ type: 'function_call_output', call_id: `c${at}`, output: 'x' })
const RESPONSES: Readonly<Record<string, Shape>> = {
  turns: (count) => ({ input: many(count, user, assistant) }),
  'calls of tools': (count) => ({ input: [user(), ...many(count, called, output, user)] }),
}
const APIS: readonly (readonly [Dialect, Readonly<Record<string, Shape>>])[] = [
  [openAiChatDialect, CHAT],
  [anthropicMessagesDialect, MESSAGES],
  [openAiResponsesDialect, RESPONSES],
]

/** The number of visited entries of lists and sets. */
function visits(work: () => void): number {
  const kinds = [[][Symbol.iterator](), new Set().values()].map(Object.getPrototypeOf)
  const usual = kinds.map(({ next }) => next)
  let count = 0
  for (const [at, kind] of kinds.entries())
    kind.next = function (this: unknown) {
      count++
      return usual[at].call(this)
    }
  try {
    work()
  } finally {
    for (const [at, kind] of kinds.entries()) kind.next = usual[at]
  }
  return count
}

for (const [dialect, shapes] of APIS)
  for (const [shape, make] of Object.entries(shapes))
    test(`${dialect.wire}: the work of reading and writing ${shape} grows with their number`, () => {
      for (const provider of PROVIDERS.values()) {
        const pair = pairOf(dialect, provider)
        if (pair === undefined) continue
        const work = (count: number) => {
          const bytes = Buffer.from(JSON.stringify({ model: 'chat', ...make(count) }))
          return visits(() => {
            const request = parseRequest(bytes, dialect.reading, 0)
            pair.encode({ ...request, isRewritten: true, wire: 'rewritten' }, someSettings(), 10)
          })
        }
        const [few, more] = [work(200), work(400)]
        assert.ok(more <= 2.5 * few + 100, `${provider.name}: ${few} visits, then ${more}`)
      }
    })
