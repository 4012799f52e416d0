/** One attempt at one upstream: sends the request, and ends with an answer for the client or a failure. */
import type { IncomingHttpHeaders } from 'node:http'
import type { UpstreamSettings } from '../../config/snapshot.ts'
import type { PoolRequest } from '../../connection/http1/contract.ts'
import type { Continued } from '../../telemetry/correlation.ts'
import type { AnswerFacts } from '../../wire/answer-facts.ts'
import type { AnswerOrigin, Failure, Passed } from '../../wire/provider.ts'
import { answeredId, answeredLimits, answersAnother, formOf } from '../answer/answered-head.ts'
import { type Encoding, encodingOf } from '../answer/decoding.ts'
import { firstContentOf } from '../answer/first-content.ts'
import type { Breakage, Listener } from '../answer/opened-stream.ts'
import { Tap } from '../answer/tap.ts'
import { UpstreamStream } from '../answer/upstream-stream.ts'
import { decodeWhole, WholeAnswer } from '../answer/whole-answer.ts'
import { withoutCredential } from '../credentials/upstream-credential.ts'
import { poolRequestOf } from '../encoding/pool-request.ts'
import { Exchange, type Receiver } from './exchange.ts'
import { masked } from './masking.ts'
import type { AttemptParts, Outcome } from './parts.ts'
import { Judgement } from './verdict.ts'

const LEFT: Outcome = { kind: 'left' }

export class Attempt implements Receiver, Listener, AnswerOrigin {
  readonly outcome: Promise<Outcome>
  readonly model: string
  readonly isDetour: boolean
  readonly #parts: AttemptParts
  readonly #judgement: Judgement
  /** The target's settings; after sending, with the credential that was sent. */
  #settings: UpstreamSettings
  readonly #exchange: Exchange
  readonly #resolve: (outcome: Outcome) => void
  #status = 0
  facts: AnswerFacts | undefined
  #headers: IncomingHttpHeaders = {}
  #encoding: Encoding | undefined
  #stream: UpstreamStream | undefined
  /** Created with the first byte of an answer that is read whole. */
  #body: WholeAnswer | undefined
  #hasLeft = false
  /** An answer that is not a stream is complete and has been read. */
  #isRead = false
  #sent: PoolRequest | undefined

  constructor(parts: AttemptParts) {
    const { request, target, gateway, totalAt, patienceMs = Infinity } = parts
    const { timeoutMs, wholeTimeoutMs, idleTimeoutMs: idleMs } = target.settings
    this.#parts = parts
    this.#judgement = new Judgement(parts)
    this.#settings = target.settings
    this.model = target.settings.model
    this.isDetour = parts.upstream.isDetour === true
    const { promise, resolve } = Promise.withResolvers<Outcome>()
    this.outcome = promise
    this.#resolve = resolve
    const firstMs = Math.min(request.stream ? timeoutMs : wholeTimeoutMs, patienceMs)
    const clocks = { firstMs, idleMs, totalAt }
    this.#exchange = new Exchange(this, clocks, gateway.clock, gateway.deadlines)
    target.state.inFlight++
    if (parts.endpoint !== undefined) parts.endpoint.inFlight++
  }

  send(ids: Continued): void {
    try {
      this.#dispatch(ids)
    } catch (error) {
      // A mistake of the gateway: the attempt releases what it holds, and the upstream is not blamed.
      this.#exchange.abort('it could not be sent')
      this.#judgement.make('neutral')
      throw error
    }
  }

  #dispatch(ids: Continued): void {
    const { target, endpoint = target.state, key } = this.#parts
    const settings = key === undefined ? target.settingsNow : target.settingsWith(key)
    if (settings === undefined) {
      this.#exchange.abort('there is no credential')
      this.#fail(withoutCredential(target.state.credential))
      return
    }
    this.#settings = settings
    this.#sent = poolRequestOf(this.#parts, settings, ids)
    endpoint.pool.dispatch(this.#sent, this.#exchange)
  }

  /** Still the same attempt: the second sending counts neither as a repeat nor against the breaker. */
  resend(): void {
    const { gateway, target, endpoint = target.state } = this.#parts
    gateway.metrics.resends.at(target.name).value++
    if (this.#sent !== undefined) endpoint.dispatchAnew(this.#sent, this.#exchange)
  }

  /** Not a failure. A refused client gets its error; for one that left, the rest is read for its usage. */
  leave(why?: Error): void {
    this.#judgement.make('neutral')
    if (why !== undefined) {
      ;(this.#stream ?? this.#exchange).abort('the request was refused')
      this.#resolve({ kind: 'refused', error: why })
      return
    }
    this.#hasLeft = true
    if (this.#stream !== undefined) this.#stream.leave(() => this.#resolve(LEFT))
    else if (this.#parts.metered.isWritten && !this.#isRead) this.#exchange.readOn()
    else {
      this.#exchange.abort('the client left')
      this.#resolve(LEFT)
    }
  }

  written(): void {
    this.#parts.metered.isWritten = true
  }

  get upstreamRequestId(): string | undefined {
    return answeredId(this.#headers, this.#settings)
  }

  get upstreamLimits(): Readonly<Record<string, string>> | undefined {
    return answeredLimits(this.#headers, this.#settings)
  }

  get id(): string {
    return this.upstreamRequestId ?? this.#sent?.requestId ?? ''
  }

  head(status: number, headers: IncomingHttpHeaders): void {
    this.#status = status
    if (this.#sent !== undefined && answersAnother(headers, this.#sent)) {
      this.#spoilt("the answer is another request's", 'The answer is that of another request.')
      return
    }
    this.#headers = headers
    if (status >= 300) {
      this.#parts.metered.hasFailed = true
      return
    }
    const form = formOf(headers, this.#parts.request, this.#settings)
    if (form === undefined) this.#spoilt('the answer is compressed', 'The answer is compressed.')
    else if (form === 'stream') this.#openStream()
    else {
      this.#encoding = form
      if (!this.#parts.request.stream) this.#exchange.begun()
    }
  }

  data(chunk: Buffer): void {
    if (this.#stream !== undefined) {
      this.#stream.data(chunk)
      return
    }
    this.#body ??= new WholeAnswer(this.#status, this.#encoding, this.#parts.request)
    const fault = this.#body.add(chunk)
    if (fault === undefined) return
    this.#exchange.abort(`the answer is ${fault}`)
    if (this.#status >= 300) this.#conclude()
    else this.#malformed(this.#body.words(fault))
  }

  end(): void {
    if (this.#stream !== undefined) this.#stream.end()
    else this.#conclude()
  }

  fail(failure: Failure): void {
    if (this.#stream !== undefined) this.#stream.fail(failure)
    // A status of failure explains more than the reset after it.
    else if (this.#status >= 300) this.#conclude()
    else this.#fail(failure)
  }

  released(): void {
    const { target, endpoint, place } = this.#parts
    target.state.inFlight--
    if (endpoint !== undefined) endpoint.inFlight--
    place?.release()
  }

  opened(failure: Breakage | undefined): void {
    if (failure instanceof Error) this.#refuse(failure)
    else if (failure !== undefined) this.#fail(failure)
    else {
      const { target, gateway } = this.#parts
      firstContentOf(target.state).note(this.#exchange.elapsedMs, gateway.clock.now())
      // A probe of the breaker ends here, because a whole stream would keep the breaker half open for minutes.
      if (this.#parts.permit.kind === 'probe') this.#judgement.make('success')
      this.#resolve({ kind: 'stream', stream: this.#stream as UpstreamStream }) // It makes this call.
    }
  }

  ended(failure: Breakage | undefined): void {
    const { gateway, target } = this.#parts
    gateway.metrics.brokenEvents.at(target.name).value += this.#stream?.brokenEvents ?? 0
    if (failure === undefined || failure instanceof Error) this.#judgement.make('success')
    else this.#blame(failure)
  }

  #openStream(): void {
    const { request, maxTokens, metered, pair, costs } = this.#parts
    const { framing } = this.#settings.provider
    // Some wires show a truncated answer only by the requested limit.
    const reader = pair.openStream(maxTokens ? { ...request, maxTokens } : request, this)
    if (reader === undefined) {
      this.#spoilt('no stream was expected', 'The answer is a stream.')
      return
    }
    this.facts = reader.facts
    const clean = (failure: Failure) => masked(failure, this.#settings)
    const tap = new Tap(reader, framing, metered, clean, costs)
    this.#stream = new UpstreamStream(tap, framing, this.#exchange, this)
    if (this.#hasLeft) this.#stream.leave(() => this.#resolve(LEFT))
  }

  #conclude(): void {
    // The encoding of a failure was not checked yet.
    decodeWhole(this.#body, this.#encoding ?? encodingOf(this.#headers), (decoded) => {
      try {
        this.#read(decoded)
      } catch {
        // JSON that is nested too deeply can be parsed but not written.
        this.#malformed('The answer cannot be translated.')
      }
    })
  }

  #read(body: Buffer | undefined): void {
    const { request, target, pair } = this.#parts
    const { provider, credential } = this.#settings
    if (this.#status >= 300) {
      const failure = provider.classify(this.#status, this.#headers, body ?? Buffer.alloc(0))
      if (failure.class === 'credential') target.state.credential.refused(this.#status, credential)
      const workaround = pair.workaround?.(failure)
      this.#fail(workaround === undefined ? failure : { ...failure, workaround })
      return
    }
    if (body === undefined) {
      this.#malformed('The compressed answer cannot be read.')
      return
    }
    this.#isRead = true
    const answer = pair.decode(body, request, this)
    if (answer.kind === 'failure') {
      this.#parts.metered.usage = answer.usage
      this.#fail(answer.failure)
    } else if (request.stream) this.#malformed('The answer is not a stream.')
    else {
      this.#judgement.make('success')
      // The client may leave before an inspector decides.
      this.#parts.metered.answered(answer.usage, body.length, this.#exchange.elapsedMs)
      if (this.#hasLeft) this.#resolve(LEFT)
      else if (answer.kind === 'body') this.#pass(answer)
      else answer.passed.then(this.#pass.bind(this), this.#refuse.bind(this))
    }
  }

  #pass(answer: Passed): void {
    if (answer.kind === 'failure') this.#fail(answer.failure)
    else {
      this.facts = answer.facts
      this.#parts.metered.answerBytes = answer.body.length
      this.#resolve({ kind: 'whole', body: answer.body })
    }
  }

  #refuse(error: Error): void {
    this.#judgement.make('success')
    this.#resolve({ kind: 'refused', error })
  }

  #spoilt(why: string, message: string): void {
    this.#exchange.abort(why)
    this.#malformed(message)
  }

  #malformed(message: string): void {
    this.#fail({ class: 'malformed', message })
  }

  #fail(failure: Failure): void {
    // The gateway's timeouts end an answer on which the upstream was still working.
    if (failure.class !== 'timeout') this.#parts.metered.hasFailed = true
    if (this.#hasLeft) {
      if (!this.#parts.request.stream) this.#parts.metered.waitedMs = this.#exchange.elapsedMs
      this.#resolve(LEFT)
    } else {
      const shown = masked(failure, this.#settings)
      this.#blame(shown)
      this.#resolve({ kind: 'failed', failure: shown })
    }
  }

  /** `shown` contains no credential. */
  #blame(shown: Failure): void {
    const { hasBegun } = this.#exchange
    const wasSent = this.#sent !== undefined
    this.#judgement.blame(shown, { headStatus: this.#status, wasSent, hasBegun })
  }
}
