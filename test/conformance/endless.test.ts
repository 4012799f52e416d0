/** An upstream that never ends, in every wire: each kind of event is repeated, and little of it is kept. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { anthropicMessagesDialect } from '../../dataplane/apis/anthropic-messages/dialect.ts'
import { openAiChatDialect } from '../../dataplane/apis/openai-chat/dialect.ts'
import { openAiCompletionsDialect } from '../../dataplane/apis/openai-completions/dialect.ts'
import { openAiResponsesDialect } from '../../dataplane/apis/openai-responses/dialect.ts'
import { transcriptionDialect } from '../../dataplane/apis/transcription/dialect.ts'
import type { Deadlines } from '../../dataplane/base/clock.ts'
import {
  AnswerTooLarge,
  ENTRY_BYTES,
  KeptText,
  PIECE_BYTES,
} from '../../dataplane/base/kept-text.ts'
import { parseRequest } from '../../dataplane/body/request.ts'
import { HeldStream } from '../../dataplane/guardrails/held-stream.ts'
import { anthropic } from '../../dataplane/providers/anthropic/provider.ts'
import { bedrock } from '../../dataplane/providers/bedrock/provider.ts'
import { PROVIDERS } from '../../dataplane/providers/index.ts'
import { openai } from '../../dataplane/providers/openai/provider.ts'
import { SSE } from '../../dataplane/providers/openai-like/sse.ts'
import { vllm } from '../../dataplane/providers/vllm/provider.ts'
import { pairOf } from '../../dataplane/translation/pair.ts'
import { inspectedPair } from '../../dataplane/upstream/answer/inspected.ts'
import type { Dialect } from '../../dataplane/wire/dialect.ts'
import type { ModelRequest, TranscriptionRequest } from '../../dataplane/wire/inner-form.ts'
import type { ClientReader, Inspector } from '../../dataplane/wire/inspection.ts'
import type { Provider, WireEvent, WireReader } from '../../dataplane/wire/provider.ts'
import { cases } from '../helpers/cases.ts'
import { type Growth, growthOf, heldBytes } from '../helpers/growth.ts'
import { aCompletionsRequest, aRequest, ORIGIN } from '../helpers/providers/a-request.ts'
import { type Kind, kindsOf, overAgain } from '../helpers/providers/endless-kinds.ts'
import { readEvents, streamNames } from '../helpers/providers/provider-fixtures.ts'

const TIMES = cases(2_000, 1_000_000)
const KEPT_BYTES_MAX = cases(131_072, 33_554_432)
/** Memory is measured once for some kinds, because collecting garbage takes longer than a thousand events. */
const KINDS_MEASURED = 8
/** Allowed memory above the count. */
const COUNTED_MAX = 3
/** In addition to the count: state that does not grow. */
const UNCOUNTED_BYTES_MAX = 524_288
/** The runner of tests remembers promises, and guardrails use promises. */
const OF_PROMISES_MAX = 1_048_576
/**
 * The cheapest late slice over the cheapest early one: 1 if each event costs the same, 4 and more if it costs as much
 * as all earlier ones.
 */
const ALLOCATION_MAX = 4
const TRIES = 3
/** An event for the client is at most this many times as long as that of the upstream. */
const GROWTH_MAX = 300

const MESSAGES = {
  model: 'm',
  max_tokens: 9,
  stream: true,
  messages: [{ role: 'user', content: 'Hi' }],
}
const RESPONSES = { model: 'm', stream: true, input: 'Hi' }

const aMessage = () => parseRequest(bytesOf(MESSAGES), anthropicMessagesDialect.reading, 7)
const aResponse = () => parseRequest(bytesOf(RESPONSES), openAiResponsesDialect.reading, 7)
const aChat = () => aRequest({ stream: true, stream_options: { include_usage: true } })
const aText = () =>
  aCompletionsRequest({ stream: true, stream_options: { include_usage: true }, logprobs: 1 })

interface Client {
  readonly name: string
  readonly dialect: Dialect
  readonly request: () => ModelRequest
  readonly native?: readonly string[]
}

const CLIENTS: readonly Client[] = [
  { name: 'chat', dialect: openAiChatDialect as Dialect, request: aChat },
  { name: 'messages', dialect: anthropicMessagesDialect as Dialect, request: aMessage },
  { name: 'responses', dialect: openAiResponsesDialect as Dialect, request: aResponse },
  { name: 'completions', dialect: openAiCompletionsDialect as Dialect, request: aText },
]

/** Names of members differ, so no recording has one of the kinds below. */
const BLOCKS = [
  { type: 'redacted_thinking', data: 'eA==' },
  { type: 'thinking', thinking: 'Hm', signature: 's1g' },
  { type: 'tool_use', id: 'toolu', name: 'f', input: { city: 'Oslo' } },
]
const MORE: Readonly<Record<string, readonly WireEvent[]>> = {
  anthropic: [
    ...BLOCKS.map((content_block) =>
      typed({ type: 'content_block_start', index: 0, content_block }),
    ),
    typed({
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'thinking_delta', thinking: 'Hm' },
    }),
    typed({
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'signature_delta', signature: 's' },
    }),
    typed({ type: 'message_delta', delta: {}, usage: { output_tokens: 1 } }),
  ],
  bedrock: [{ text: 'Hm' }, { signature: 's1g' }, { redactedContent: 'eA==' }].map(
    (reasoningContent) => ({
      event: 'contentBlockDelta',
      data: JSON.stringify({ contentBlockIndex: 0, delta: { reasoningContent } }),
    }),
  ),
}

for (const provider of PROVIDERS.values()) {
  for (const client of CLIENTS) {
    const { operation } = client.dialect
    if (pairOf(client.dialect, provider)?.openStream === undefined) continue
    if (operation === 'completions' && provider.operations.completions?.openStream === undefined)
      continue
    test(`${provider.name}, for a client of ${client.name}: no kind of event fills the memory or costs more each time`, async (context) => {
      const streams = streamNames(provider.name, operation).map((name) =>
        readEvents(provider.name, name, operation),
      )
      const more = (MORE[provider.name] ?? []).map((event) => [event])
      const kinds = [
        ...kindsOf([...streams, ...more]),
        ...[...streams, more.flat()].flatMap(overAgain),
      ]
      const bounds = new Bounds((kept) => readerOf(provider, client, kept))
      context.diagnostic(await bounds.check(kinds))
    })
  }
}

for (const api of ['messages', 'responses']) {
  test(`a client of ${api} with an upstream of the same API: no kind of event fills the memory or costs more each time`, async (context) => {
    const client = CLIENTS.find(({ name }) => name === api) as Client
    const events = api === 'messages' ? recorded('anthropic').flat() : responseEvents()
    const bounds = new Bounds((kept) => readerOf(openai, { ...client, native: [api] }, kept))
    context.diagnostic(await bounds.check([...kindsOf([events]), ...overAgain(events)]))
  })
}

for (const provider of [openai, vllm]) {
  test(`${provider.name}, transcriptions: no kind of event fills the memory or costs more each time`, async (context) => {
    const bounds = new Bounds((kept) => {
      const pair = pairOf(transcriptionDialect as Dialect, provider)
      const request = { operation: 'transcription', choices: 1 } as TranscriptionRequest
      return pair?.openStream(request, ORIGIN, kept) as WireReader
    })
    const events = [
      { type: 'transcript.text.delta', delta: 'a' },
      { choices: [{ delta: { content: 'a' } }] },
      { choices: [], usage: { prompt_tokens: 4, completion_tokens: 1 } },
    ].map((event) => ({ event: '', data: JSON.stringify(event) }))
    context.diagnostic(await bounds.check(kindsOf([events])))
  })
}

// A guardrail sees events of the inner form, so one wire of each family covers all of them.
for (const provider of [openai, anthropic, bedrock]) {
  test(`${provider.name}, behind a guardrail: no kind of event fills the memory or costs more each time`, async (context) => {
    const bounds = new Bounds((kept) => guardedReader(provider, kept), OF_PROMISES_MAX)
    context.diagnostic(await bounds.check(kindsOf([...recorded(provider.name)])))
  })
}

function guardedReader(provider: Provider, kept: KeptText): ClientReader {
  const judge = async (texts: readonly string[]) => texts
  const inspector: Inspector = {
    whole: (answer) => answer,
    open: (held) => new HeldStream(judge, held),
  }
  // No time passes.
  const deadlines = { add: () => {}, remove: () => {} } as unknown as Deadlines
  const allowance = { deadlines, totalAt: 0 }
  const pair = inspectedPair(openAiChatDialect as Dialect, provider, inspector, allowance)
  return pair?.openStream(aChat(), ORIGIN, kept) as ClientReader
}

function recorded(provider: string): WireEvent[][] {
  return streamNames(provider).map((name) => readEvents(provider, name))
}

function typed(data: Readonly<Record<string, unknown>> & { readonly type: string }): WireEvent {
  return { event: data.type, data: JSON.stringify(data) }
}

/** The events of a response with reasoning, words, a refusal and a call. */
function responseEvents(): WireEvent[] {
  const writer = openAiResponsesDialect.openWriter?.(aResponse(), new KeptText())
  assert.ok(writer)
  const deltas = [
    { reasoning: 'Hm' },
    { text: 'Hi' },
    { refusal: 'No' },
    { call: { index: 0, id: 'call_1', name: 'f', arguments: '{}' } },
  ]
  const text = deltas.map((delta) => writer.write({ kind: 'delta', choice: 0, delta })).join('')
  return [...SSE.split(Buffer.from(text + writer.end(undefined)))].flatMap(
    (frame) => SSE.parse(frame) ?? [],
  )
}

function readerOf(
  provider: Provider,
  { dialect, request, native }: Client,
  kept: KeptText,
): WireReader {
  const reader = pairOf(dialect, provider, native)?.openStream(request(), ORIGIN, kept)
  assert.ok(reader)
  return reader
}

/** Reports its count. */
class Counted extends KeptText {
  bytes = 0

  override keep(piece: string): void {
    this.bytes += piece.length + PIECE_BYTES
    super.keep(piece)
  }

  override keepEntry(...texts: readonly string[]): void {
    this.bytes += texts.join('').length + ENTRY_BYTES
    super.keepEntry(...texts)
  }
}

class Bounds {
  readonly #open: (kept: KeptText) => ClientReader
  readonly #uncounted: number
  #events = 0
  #ms = 0
  #most = { held: 0, allocation: 0, slowdown: 0 }

  constructor(open: (kept: KeptText) => ClientReader, uncounted = UNCOUNTED_BYTES_MAX) {
    this.#open = open
    this.#uncounted = uncounted
  }

  async check(kinds: readonly Kind[]): Promise<string> {
    for (let at = 0; at < kinds.length; at += KINDS_MEASURED)
      await this.#assertHeld(kinds.slice(at, at + KINDS_MEASURED))
    const { held, allocation, slowdown } = this.#most
    const us = (1000 * this.#ms) / this.#events
    return [
      `${kinds.length} kinds`,
      `${this.#events} events`,
      `${Math.ceil(held / 1024)} KiB held by ${KINDS_MEASURED} streams`,
      `${us.toFixed(1)} us an event`,
      `allocation x${allocation.toFixed(1)}`,
      `time x${slowdown.toFixed(1)}`,
    ].join(' | ')
  }

  /** A first try may leave compiled code, or objects that all streams share. */
  async #assertHeld(kinds: readonly Kind[]): Promise<void> {
    const names = kinds.map(({ name }) => name.slice(0, 400)).join('\n')
    for (let tries = 1; ; tries++) {
      const { held, counted } = await this.#measured(kinds)
      if (held > COUNTED_MAX * counted + this.#uncounted) {
        assert.ok(tries < TRIES, `${held} bytes held, ${counted} counted, by:\n${names}`)
        continue
      }
      this.#most.held = Math.max(this.#most.held, held)
      return
    }
  }

  async #measured(kinds: readonly Kind[]): Promise<{ held: number; counted: number }> {
    const before = await heldBytes()
    // Alive until the memory has been measured.
    const streams: { kept: Counted; reader: ClientReader }[] = []
    for (const kind of kinds) {
      const kept = new Counted(KEPT_BYTES_MAX)
      const reader = this.#open(kept)
      streams.push({ kept, reader })
      const { allocation } = await this.#spent(kind, reader)
      assert.ok(allocation <= ALLOCATION_MAX, `${allocation} times as much allocated: ${kind.name}`)
    }
    const held = (await heldBytes()) - before
    return { held, counted: streams.reduce((sum, { kept }) => sum + kept.bytes, 0) }
  }

  async #spent(kind: Kind, reader: ClientReader): Promise<Growth> {
    let growth = await this.#repeat(kind, reader)
    this.#events += growth.times
    this.#ms += growth.ms
    // Compiled code may have come in between. The time depends on the machine: it is printed, and decides nothing.
    for (let tries = 1; tries < TRIES && growth.allocation > ALLOCATION_MAX; tries++)
      growth = await this.#repeat(kind, this.#open(new KeptText(KEPT_BYTES_MAX)))
    const { allocation, slowdown } = growth
    this.#most.allocation = Math.max(this.#most.allocation, allocation)
    this.#most.slowdown = Math.max(this.#most.slowdown, slowdown)
    return growth
  }

  async #repeat(kind: Kind, reader: ClientReader): Promise<Growth> {
    let [read, written] = [0, 0]
    for (const event of kind.before) await outOf(reader, event)
    const count = (out: string | undefined) => {
      written += out?.length ?? 0
      return out !== undefined
    }
    const growth = await growthOf(TIMES, (time) => {
      const event = kind.at(time)
      read += event.data.length + 100
      const next = outOf(reader, event)
      return next instanceof Promise ? next.then(count) : count(next)
    })
    assert.ok(written <= GROWTH_MAX * read, `${written} characters written: ${kind.name}`)
    return growth
  }
}

type Out = string | undefined

/** The client's text; undefined if the stream ends. */
function outOf(reader: ClientReader, event: WireEvent): Out | Promise<Out> {
  try {
    const { failure, done, out } = reader.read(event)
    if (failure !== undefined || done) return undefined
    return reader.release === undefined
      ? out
      : reader.release(false).then(({ text }) => text, ended)
  } catch (error) {
    return ended(error)
  }
}

function ended(error: unknown): undefined {
  if (!(error instanceof AnswerTooLarge)) throw error
}

function bytesOf(body: object): Buffer {
  return Buffer.from(JSON.stringify(body))
}
