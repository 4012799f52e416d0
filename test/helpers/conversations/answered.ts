/** One answer of an upstream through the gateway's two wires, as the client reads it. */

import { Meter } from '../../../dataplane/tokens/meter.ts'
import { Tap } from '../../../dataplane/upstream/answer/tap.ts'
import type { ModelRequest, Usage } from '../../../dataplane/wire/inner-form.ts'
import type { AnswerOrigin } from '../../../dataplane/wire/provider.ts'
import { aRandom } from '../random.ts'
import type { Wire } from './asked.ts'
import type { Heard } from './client/contract.ts'
import type { Case } from './model.ts'
import { bytesOf, UPSTREAMS, type Upstream } from './upstream/index.ts'
import type { Said } from './upstream/say-blocks.ts'
import { streamResponses, wholeResponses } from './upstream/say-responses.ts'

export interface Came {
  /** As the upstream sent it. */
  readonly said: string
  /** As the client got it. */
  readonly text: string
  /** The failure instead of an answer. */
  readonly failure?: string
  readonly isWhole: boolean
  /** The tokens of prompt and answer that were counted. */
  readonly counted?: string
  readonly heard?: Heard
  /** The SDK's error. */
  readonly broken?: string
}

/** `path`: the destination of the request, which may be another API of the upstream. */
export function answer(wire: Wire, request: ModelRequest, path: string, one: Case): Came {
  const voice = voiceOf(path, one)
  const came = one.stream ? streamed(wire, request, voice, one) : whole(wire, request, voice, one)
  if (came.failure !== undefined) return came
  const { client } = wire
  const model = { heard: undefined as Heard | undefined }
  try {
    const read = one.stream ? client.readStream : client.readWhole
    model.heard = read(came.text, one.forgets)
  } catch (error) {
    return { ...came, broken: (error as Error).message }
  }
  return { ...came, heard: model.heard as Heard }
}

type Voice = Pick<Upstream, 'whole' | 'stream'>

function voiceOf(path: string, { provider }: Case): Voice {
  if (path.includes('/responses')) return { whole: wholeResponses, stream: streamResponses }
  return UPSTREAMS[path.includes('/messages') ? 'anthropic' : provider] as Upstream
}

function whole({ pair }: Wire, request: ModelRequest, voice: Voice, one: Case): Came {
  const said = voice.whole(one.answer, one.style)
  const passed = pair.decode(Buffer.from(said), request, originOf(one, voice))
  if (passed.kind === 'failure')
    return { said, text: '', failure: passed.failure.message, isWhole: false }
  if (passed.kind === 'inspected') throw new Error('An answer of a test is short.')
  return { said, text: String(passed.body), isWhole: true, counted: countedBy(passed.usage) }
}

const FINISH =
  /"(finish_reason|stop_reason|stopReason|finishReason)":"|"done":true|"type":"(message-end|response\.completed)"/

/** The events up to a cut, or with a broken one. */
export function harmed(events: readonly Said[], { style }: Case): Said[] {
  const last = events.findIndex(([, data]) => FINISH.test(data))
  const random = aRandom(style.seed + 1)
  const at = random(Math.max(1, last))
  if (style.ending === 'cut') return events.slice(0, Math.min(last, at + 1))
  if (style.ending !== 'broken event') return [...events]
  const [event, data] = events[at] as Said
  return events.with(at, [event, data.slice(0, Math.max(2, data.length >> 1))])
}

function streamed({ provider, pair }: Wire, request: ModelRequest, voice: Voice, one: Case): Came {
  const events = harmed(voice.stream(one.answer, one.style), one)
  const { framing } = provider
  const bytes = bytesOf(framing.mediaType, events)
  const said = events.map(([event, data]) => (event === '' ? data : `${event} ${data}`)).join('\n')
  const reader = pair.openStream(request, originOf(one, voice))
  if (reader === undefined) throw new Error('No stream.')
  const metered = new Meter().begin('a', 'm')
  const tap = new Tap(reader, framing, metered)
  const framer = framing.open()
  const out: Buffer[] = []
  for (const chunk of cut(bytes, one.style.seed)) {
    const frames = framer.push(chunk)
    if (frames !== undefined) out.push(tap.take(frames))
  }
  const rest = framer.rest()
  if (rest.length > 0 && framing.closing !== undefined)
    out.push(tap.take(Buffer.concat([rest, framing.closing])))
  const isWhole = tap.finished && tap.failure === undefined && tap.pending === undefined
  if (isWhole) out.push(tap.end())
  const text = Buffer.concat(out).toString()
  const { failure } = tap
  return {
    said,
    text,
    isWhole,
    counted: countedBy(metered.usage),
    ...(failure && { failure: failure.message }),
  }
}

function originOf({ conversation }: Case, voice: Voice): AnswerOrigin {
  return { model: conversation.model, id: 'req-1', isDetour: voice.whole === wholeResponses }
}

function countedBy(usage: Usage | undefined): string {
  return `${usage?.promptTokens}, ${usage?.completionTokens}`
}

/** Anywhere, also within a character. */
function cut(bytes: Buffer, seed: number): Buffer[] {
  const random = aRandom(seed)
  const places = Array.from({ length: random(12) }, () => random(bytes.length + 1))
  const ends = [...places.toSorted((a, b) => a - b), bytes.length]
  return ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end))
}
