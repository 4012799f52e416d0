/** One answer, written event by event, through the wires of a client and an upstream, as the client reads it. */

import { parseRequest } from '../../../dataplane/body/request.ts'
import type { Json } from '../../../dataplane/json/values.ts'
import { PROVIDERS } from '../../../dataplane/providers/index.ts'
import { Meter } from '../../../dataplane/tokens/meter.ts'
import { type Pair, pairOf } from '../../../dataplane/translation/pair.ts'
import { Tap } from '../../../dataplane/upstream/answer/tap.ts'
import type { ModelRequest } from '../../../dataplane/wire/inner-form.ts'
import type { Provider } from '../../../dataplane/wire/provider.ts'
import { bytesOf, ORIGIN, someSettings } from '../providers/a-request.ts'
import type { Heard } from './client/contract.ts'
import { CLIENTS, type Served } from './client/index.ts'

export interface Joined {
  readonly client: Served
  readonly provider: Provider
  readonly pair: Pair
}

export function joined(api: string, name: string, isNative = false): Joined {
  const client = CLIENTS.find((one) => one.name === api)
  const provider = PROVIDERS.get(name)
  const native = isNative && client ? [client.dialect.wire] : undefined
  const pair = client && provider && pairOf(client.dialect, provider, native)
  if (client === undefined || provider === undefined || pair === undefined)
    throw new Error(`No wire from ${api} to ${name}.`)
  return { client, provider, pair }
}

/** The request of a client, read. */
export function asked({ client }: Joined, body: Json): ModelRequest {
  return parseRequest(Buffer.from(JSON.stringify(body)), client.dialect.reading, 1_767_323_045)
}

/** The body that the upstream gets. */
// biome-ignore lint/suspicious/noExplicitAny: JSON of a test.
export function sent({ pair }: Joined, request: ModelRequest): any {
  const settings = someSettings({ model: 'm', region: 'eu-west-1', deployment: 'm' })
  const { body, rest = [] } = pair.encode(request, settings, undefined)
  return JSON.parse(Buffer.concat([bytesOf(body), ...rest]).toString())
}

export interface Streamed {
  readonly text: string
  readonly isWhole: boolean
  readonly failure: string | undefined
}

/** The stream of these bytes, which arrive in two reads. */
export function streamed(
  { pair, provider }: Joined,
  request: ModelRequest,
  bytes: Buffer,
  cut = bytes.length,
): Streamed {
  const reader = pair.openStream(request, ORIGIN)
  if (reader === undefined) throw new Error('No stream.')
  const tap = new Tap(reader, provider.framing, new Meter().begin('a', 'm'))
  const framer = provider.framing.open()
  const reads = [bytes.subarray(0, cut), bytes.subarray(cut)]
  const frames = [...reads.map((one) => framer.push(one)), framer.rest()].flatMap(
    (one) => one ?? [],
  )
  const out = frames.filter(({ length }) => length > 0).map((one) => tap.take(one))
  const isWhole = tap.finished && tap.failure === undefined
  if (isWhole) out.push(tap.end())
  return { text: Buffer.concat(out).toString(), isWhole, failure: tap.failure?.message }
}

/** Chunks of chat completions with these deltas, and an end. */
export function chunksOf(deltas: readonly Json[], finish = 'tool_calls', more: Json = {}): Buffer {
  const choices = [
    ...deltas.map((delta) => ({ index: 0, delta, finish_reason: null })),
    { index: 0, delta: {}, finish_reason: finish, ...more },
  ]
  const chunks = choices.map((choice) => ({ id: 'chatcmpl-up', model: 'm', choices: [choice] }))
  const events = [...chunks.map((chunk) => JSON.stringify(chunk)), '[DONE]']
  return Buffer.from(events.map((data) => `data: ${data}\n\n`).join(''))
}

/** A piece of a call. */
export function piece(members: Json, called: Json = {}): Json {
  return { tool_calls: [{ ...members, function: called }] }
}

export function heard({ client }: Joined, { text }: Streamed): Heard {
  return client.readStream(text, false)
}
