/** One attempt at one upstream, from the request it sends to the answer that may be committed to, or its failure. */
import type { IncomingHttpHeaders } from 'node:http'
import type { ChatRequest, Usage } from '../call.ts'
import type { Gateway } from '../gateway.ts'
import type { MeteredAttempt } from '../meter.ts'
import type { Failure } from '../providers/contract.ts'
import { Tap } from '../streaming/tap.ts'
import { UpstreamStream } from '../streaming/upstream-stream.ts'
import { Exchange, type Receiver } from './exchange.ts'
import type { Target } from './targets.ts'

export type Outcome =
  | { readonly kind: 'whole'; readonly body: Buffer | string; readonly usage: Usage | undefined }
  | { readonly kind: 'stream'; readonly stream: UpstreamStream }
  | { readonly kind: 'failed'; readonly failure: Failure }
  | { readonly kind: 'left' }

/** Largest whole answer; no chat completion is near it. */
const ANSWER_BYTES_MAX = 33_554_432
const FAILURE_BYTES_MAX = 65_536

export class Attempt implements Receiver {
  readonly outcome: Promise<Outcome>
  readonly #request: ChatRequest
  readonly #target: Target
  readonly #tap: Tap
  readonly #exchange: Exchange
  #resolve: (outcome: Outcome) => void = () => {}
  #status = 0
  #headers: IncomingHttpHeaders = {}
  #stream: UpstreamStream | undefined
  #chunks: Buffer[] = []
  #bytes = 0

  constructor(
    request: ChatRequest,
    target: Target,
    metered: MeteredAttempt,
    gateway: Gateway,
    totalAt: number,
  ) {
    this.#request = request
    this.#target = target
    this.#tap = new Tap(target.settings.provider, request, metered)
    this.outcome = new Promise((resolve) => {
      this.#resolve = resolve
    })
    const { timeoutMs, idleTimeoutMs } = target.settings
    const clocks = { firstMs: timeoutMs, idleMs: idleTimeoutMs, totalAt }
    this.#exchange = new Exchange(this, clocks, gateway.clock, gateway.deadlines)
  }

  send(requestId: string, maxTokens: number | undefined): void {
    const { settings, state } = this.#target
    const { path, headers, body } = settings.provider.encode(this.#request, settings, maxTokens)
    const all = {
      ...headers,
      ...settings.headers,
      'accept-encoding': 'identity',
      'x-request-id': requestId,
    }
    const options = { path: settings.basePath + path, method: 'POST', headers: all, body } as const
    state.pool.dispatch(options, this.#exchange)
  }

  /** The client left: the upstream is told at once, and the attempt is nobody's failure. */
  leave(): void {
    this.#exchange.abort('the client left')
    this.#resolve({ kind: 'left' })
  }

  head(status: number, headers: IncomingHttpHeaders): void {
    this.#status = status
    this.#headers = headers
    const streams = status < 300 && this.#request.stream && isEventStream(headers)
    if (streams) {
      this.#stream = new UpstreamStream(this.#tap, this.#exchange, (failure) =>
        this.#opened(failure),
      )
    } else if (status < 300) {
      this.#exchange.begun()
    }
  }

  data(chunk: Buffer): void {
    if (this.#stream !== undefined) {
      this.#stream.data(chunk)
      return
    }
    this.#bytes += chunk.length
    if (this.#status < 300 && this.#bytes > ANSWER_BYTES_MAX) {
      this.#fail({ class: 'malformed', message: 'The answer is larger than 32 MiB.' })
      this.#exchange.abort('answer too large')
    } else if (this.#status < 300 || this.#bytes <= FAILURE_BYTES_MAX) {
      this.#chunks.push(chunk)
    } else {
      this.#conclude()
      this.#exchange.abort('error body too large')
    }
  }

  end(): void {
    if (this.#stream !== undefined) this.#stream.end()
    else this.#conclude()
  }

  fail(failure: Failure): void {
    if (this.#stream !== undefined) this.#stream.fail(failure)
    // A status that says failure is worth more than the reset behind it.
    else if (this.#status >= 300) this.#conclude()
    else this.#fail(failure)
  }

  #opened(failure: Failure | undefined): void {
    if (failure !== undefined) this.#fail(failure)
    // The callback comes from the stream, so it is there.
    else this.#resolve({ kind: 'stream', stream: this.#stream as UpstreamStream })
  }

  #conclude(): void {
    const body =
      this.#chunks.length === 1 ? (this.#chunks[0] as Buffer) : Buffer.concat(this.#chunks)
    const { provider } = this.#target.settings
    if (this.#status >= 300) {
      this.#fail(provider.classify(this.#status, this.#headers, body))
      return
    }
    const answer = provider.decode(body, this.#request)
    if (answer.kind === 'failure') this.#fail(answer.failure)
    else if (this.#request.stream)
      this.#fail({ class: 'malformed', message: 'The answer is not a stream.' })
    else this.#resolve({ kind: 'whole', body: answer.body, usage: answer.usage })
  }

  #fail(failure: Failure): void {
    this.#resolve({ kind: 'failed', failure })
  }
}

function isEventStream(headers: IncomingHttpHeaders): boolean {
  const type = headers['content-type']
  return type === undefined || type.startsWith('text/event-stream')
}
