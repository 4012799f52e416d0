/** Checks the capabilities of each provider: the rows of the table in dataplane/providers/README.md. */

import { PROVIDER_FACTS, PROVIDERS } from '../../dataplane/providers/index.ts'
import type { ChatEvent } from '../../dataplane/wire/inner-form.ts'
import type { Provider } from '../../dataplane/wire/provider.ts'
import { aRequest, someSettings } from '../helpers/providers/a-request.ts'
import {
  type AnswerCase,
  readCases,
  type StreamCase,
  streamNames,
} from '../helpers/providers/provider-fixtures.ts'

type Members = Readonly<Record<string, unknown>>
type Probe = (provider: Provider) => boolean

const IMAGE = 'data:image/png;base64,iVBORw0KGgo='
const weather = { type: 'function', function: { name: 'weather', parameters: { type: 'object' } } }
const called = (id: string) => ({
  id,
  type: 'function',
  function: { name: 'weather', arguments: '{}' },
})
const answered = (id: string) => ({ role: 'tool', tool_call_id: id, content: 'sun' })
const user = { role: 'user', content: 'Hi' }

/** Whether the provider writes the request instead of refusing it. */
const takes =
  (members: Members): Probe =>
  ({ operations }) => {
    try {
      operations.chat?.encode(aRequest(members), someSettings(), undefined)
      return operations.chat !== undefined
    } catch {
      return false
    }
  }

/** The fixtures of a provider's chat: its answers, and the events of its recorded streams. */
function recorded(name: string) {
  const answers = readCases<AnswerCase[]>(name, 'chat/answer.json')
  const streams = streamNames(name).map((one) => readCases<StreamCase>(name, `chat/${one}.json`))
  const usages = [...answers, ...streams].flatMap(({ usage }) => usage ?? [])
  const events = streams.flatMap(({ inner }) => inner.flat())
  return { answers, streams, usages, events }
}

const shows =
  (holds: (events: readonly ChatEvent[], answers: string) => boolean): Probe =>
  ({ name }) => {
    const { answers, events } = recorded(name)
    return holds(events, JSON.stringify(answers.map(({ answer }) => answer)))
  }

const counts =
  (member: string): Probe =>
  ({ name }) =>
    recorded(name).usages.some((usage) => Number((usage as Members)[member]) > 0)

export const CAPABILITIES: Readonly<Record<string, Probe>> = {
  chat: takes({}),
  stream: ({ operations }) => operations.chat?.openStream !== undefined,
  'usage in streams': ({ name }) => recorded(name).streams.some(({ usage }) => usage !== undefined),
  tools: takes({ tools: [weather], messages: [user] }),
  'parallel tools': takes({
    tools: [weather],
    messages: [
      user,
      { role: 'assistant', content: null, tool_calls: [called('call_a'), called('call_b')] },
      answered('call_a'),
      answered('call_b'),
    ],
  }),
  images: takes({
    messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: IMAGE } }] }],
  }),
  'JSON schema': takes({
    response_format: {
      type: 'json_schema',
      json_schema: { name: 'n', schema: { type: 'object', properties: {} } },
    },
  }),
  'several choices': takes({ n: 2 }),
  'log probabilities': takes({ logprobs: true }),
  reasoning: shows(
    (events, answers) =>
      answers.includes('"reasoning_content"') ||
      events.some((event) => event.kind === 'delta' && event.delta.reasoning !== undefined),
  ),
  'cached tokens': counts('cachedTokens'),
  embeddings: ({ operations }) => operations.embeddings !== undefined,
  completions: ({ operations }) => operations.completions !== undefined,
  rerank: ({ operations }) => operations.rerank !== undefined,
  transcription: ({ operations }) => operations.transcription !== undefined,
  health: ({ healthPath }) => healthPath !== undefined,
  'queue gauges': ({ queueGauges }) => queueGauges !== undefined,
  'context window': ({ models, hosted }) =>
    !hosted || models?.some(({ contextWindow }) => contextWindow !== undefined) === true,
  /** By the runtime, or by the published encodings of its models; a `tokenizer.json` counts for any. */
  'token count': ({ tokenQuestions, models }) =>
    tokenQuestions !== undefined || models?.some(({ encoding }) => encoding !== undefined) === true,
}

/** The table as Markdown: a row for each provider, a column for each capability. */
export function capabilityTable(): string {
  const columns = Object.keys(CAPABILITIES)
  const rows = Object.keys(PROVIDER_FACTS).flatMap((name) => {
    const provider = PROVIDERS.get(name)
    if (provider === undefined) return []
    const cells = columns.map((column) => (CAPABILITIES[column]?.(provider) ? 'yes' : ''))
    return [`| \`${name}\` | ${cells.join(' | ')} |`]
  })
  const head = `| provider | ${columns.join(' | ')} |`
  return [head, `|${' --- |'.repeat(columns.length + 1)}`, ...rows].join('\n')
}
