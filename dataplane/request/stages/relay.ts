/** Sends the answer to the client, with back-pressure in both directions, until its one end. */
import { GatewayError } from '../../base/errors.ts'
import { maskKeys } from '../../base/shown-text.ts'
import type { Work } from '../../call/presence.ts'
import type { Cell } from '../../telemetry/series.ts'
import type { Breakage, OpenedStream, Sink } from '../../upstream/answer/opened-stream.ts'
import type { Outcome } from '../../upstream/attempt/parts.ts'
import { wordsFor } from '../../upstream/attempt/refusal.ts'
import type { Failure } from '../../wire/provider.ts'
import type { AnswerSource, ClientResponse } from '../response.ts'

export type Reply = Extract<Outcome, { kind: 'whole' | 'stream' }>

/** Sends a whole answer at once, or a stream until its end. `open` counts streams. */
export function relay(
  reply: Reply,
  response: ClientResponse,
  open: Cell,
): Promise<void> | undefined {
  if (reply.kind === 'stream') return relayStream(reply.stream, response, open)
  response.send(200, response.wholeType, reply.body)
  return undefined
}

async function relayStream(
  stream: OpenedStream,
  response: ClientResponse,
  open: Cell,
): Promise<void> {
  open.value++
  try {
    const failure = await new Flow(stream, response).failure
    if (failure instanceof Error) throw failure
    if (failure !== undefined) throw cut(failure, response.upstream)
    if (response.left) throw new GatewayError('ERR_GW_STREAM_ABORTED', 'The client left.')
    response.end()
  } finally {
    open.value--
  }
}

/** Sends the bytes of a stream to the client until the stream ends or the client leaves. */
class Flow implements Sink, AnswerSource, Work {
  /** Resolves with the failure that cut the stream, if any. */
  readonly failure: Promise<Breakage | undefined>
  readonly #stream: OpenedStream
  readonly #response: ClientResponse
  readonly #resolve: (failure: Breakage | undefined) => void

  constructor(stream: OpenedStream, response: ClientResponse) {
    this.#stream = stream
    this.#response = response
    const { promise, resolve } = Promise.withResolvers<Breakage | undefined>()
    this.failure = promise
    this.#resolve = resolve
    response.presence.begin(this)
    if (response.presence.state === 'over') return
    response.commit(this)
    stream.flowTo(this)
  }

  write(events: Buffer): boolean {
    return this.#response.write(events)
  }

  finish(failure: Breakage | undefined): void {
    this.#response.presence.done()
    this.#resolve(failure)
  }

  drained(): void {
    this.#stream.drained()
  }

  leave(): void {
    this.#stream.leave(() => this.#resolve(undefined))
  }
}

function cut(failure: Failure, upstream: string): GatewayError {
  const words = wordsFor(failure, upstream).replace(/^U/, 'u')
  return new GatewayError(
    'ERR_GW_STREAM_ABORTED',
    `The answer was cut after it had begun: ${words}`,
    { cause: `${upstream}: ${maskKeys(failure.message)}` },
  )
}
