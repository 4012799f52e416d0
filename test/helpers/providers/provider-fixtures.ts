/**
 * The files every provider needs in `test/fixtures/providers/<name>/`, and how they are read: `errors.json`, and for
 * each of its operations a folder with the input wire, the inner form, and the output wire.
 */

import { readdirSync, readFileSync } from 'node:fs'
import type { Json } from '../../../dataplane/json/values.ts'
import type { ChatEvent } from '../../../dataplane/wire/inner-form.ts'
import type { WireEvent, WireMeaning } from '../../../dataplane/wire/provider.ts'

/** `request.json`: what a client sends and what the upstream must get. */
export interface RequestCase {
  readonly case: string
  /** Members of the client's body, or the canonical request that all providers translate. */
  readonly client: Json | 'canonical'
  readonly maxTokens?: number
  readonly dialect?: Json
  /** Path and query of the request, if they depend on anything. */
  readonly path?: string
  readonly upstream?: Json
  /** The client's members that the provider does not support. */
  readonly leftOut?: readonly string[]
  /** `param` of the refusal, if there is no translation. */
  readonly refused?: string
}

/** `answer.json`: the upstream's answer with 200 and its result. */
export interface AnswerCase {
  readonly case: string
  readonly client?: Json
  readonly upstream: unknown
  /** `same`: the very bytes. */
  readonly answer?: Json | 'same'
  readonly usage?: Json
  readonly failure?: Json
}

/** `embeddings/answer.json`: the same, and the answer for clients of any other wire. */
export interface EmbeddingsCase extends AnswerCase {
  /** Absent if the answer is a failure. */
  readonly inner?: { readonly model: string; readonly vectors: readonly (readonly number[])[] }
}

/** `rerank/answer.json`: the same, and the answer for clients of any other wire. */
export interface RerankCase extends AnswerCase {
  /** Absent if the answer is a failure. */
  readonly inner?: Json
}

/** `completions/answer.json`: the same, and the answer for clients of any other wire. */
export interface CompletionsCase extends AnswerCase {
  /** Absent if the answer is a failure. */
  readonly inner?: Json
}

/** `completions/NAME.json` for `NAME.sse`: the client's result, by choice. */
export interface CompletionsStream {
  readonly client?: Json
  readonly texts: readonly string[]
  readonly finish: readonly (string | null)[]
  readonly usage?: Json
  readonly failure?: Json
}

/** `errors.json`: answers that are not 2xx, and with status 0 events within a stream. */
export interface ErrorCase {
  readonly case: string
  readonly status: number
  readonly headers?: Json
  readonly body: unknown
  readonly failure: Json
}

/** `stream.json` for `stream.sse`, and so for every further pair: the meaning of each event. */
export interface StreamCase {
  readonly client?: Json
  /** The client's result. */
  readonly text: string
  readonly tools?: readonly { readonly name: string; readonly arguments: string }[]
  readonly finish: string | null
  /** Whether the upstream's own end was seen. */
  readonly done: boolean
  readonly usage?: Json
  readonly failure?: Json
  /** The inner form of each event. */
  readonly inner: readonly (readonly ChatEvent[])[]
  /** The bytes of each event for a client of chat completions, with and without a request for usage. */
  readonly asked: readonly EventCase[]
  readonly unasked: readonly EventCase[]
}

/** A WireMeaning with the chunks as objects; unset flags are omitted. */
export type EventCase = Partial<Omit<WireMeaning, 'out'>> & {
  readonly out: 'same' | readonly Json[]
}

const FOLDER = new URL('../../fixtures/providers/', import.meta.url)

export const CANONICAL = JSON.parse(
  readFileSync(new URL('canonical-request.json', FOLDER), 'utf8'),
) as Json

export function readCases<Case>(provider: string, file: string): Case {
  const text = readFileSync(new URL(`${provider}/${file}`, FOLDER), 'utf8')
  return JSON.parse(text) as Case
}

/** Names of providers that have fixtures. */
export function fixtureNames(): string[] {
  const entries = readdirSync(FOLDER, { withFileTypes: true })
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)
}

export function streamNames(provider: string, operation = 'chat'): string[] {
  const files = readdirSync(new URL(`${provider}/${operation}/`, FOLDER))
  return files.filter((file) => file.endsWith('.sse')).map((file) => file.slice(0, -4))
}

export function readEvents(provider: string, stream: string, operation = 'chat'): WireEvent[] {
  const file = new URL(`${provider}/${operation}/${stream}.sse`, FOLDER)
  const text = readFileSync(file, 'utf8')
  const events: WireEvent[] = []
  for (const block of text.split('\n\n')) {
    const lines = block.split('\n').filter((line) => line !== '' && !line.startsWith(':'))
    const field = (name: string) =>
      lines
        .filter((line) => line.startsWith(`${name}: `))
        .map((line) => line.slice(name.length + 2))
    if (lines.length > 0) {
      events.push({ event: field('event').join(''), data: field('data').join('\n') })
    }
  }
  return events
}
