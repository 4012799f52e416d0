/** The answer to one client, and its only writer: unsent, heartbeating, committed, ended. */

import type { Clock, Deadline, Deadlines } from '../base/clock.ts'
import type { GatewayError } from '../base/errors.ts'
import { asciiOf } from '../base/shown-text.ts'
import type { AnswerListener, Call } from '../call/call.ts'
import { Presence } from '../call/presence.ts'
import { VERSION } from '../websocket/handshake.ts'
import type { ClientWire, StreamVoice } from '../wire/dialect.ts'
import { bodyIsUnread } from './head-rules.ts'

/** The connection is cut if a client reads no byte for this long while bytes are waiting. */
const STALL_MS = 30_000
/** How often the gateway checks whether the client has read bytes. */
const LOOK_MS = 1000
const NEVER = Number.POSITIVE_INFINITY
const CR = 13
const LF = 10

interface Clocks {
  readonly clock: Clock
  readonly deadlines: Deadlines
}

/** The source of a stream's bytes. */
export interface AnswerSource {
  /** The client has read everything; more may be written. */
  drained(): void
}

export class ClientResponse implements Deadline, AnswerListener {
  due = NEVER
  seat = -1
  state: 'unsent' | 'heartbeating' | 'committed' | 'ended' = 'unsent'
  /** Status of the answer for the metrics: 499 if a stream was cut after it began. */
  status = 0
  /** The client disconnected before its answer was complete. */
  left = false
  /** Every answer has these headers; the values become known as the request proceeds. */
  route = 'none'
  upstream = 'none'
  /** The upstream's id of the request. */
  upstreamRequestId: string | undefined
  /** Parameters of the request that were dropped for that upstream. */
  dropped: readonly string[] | undefined
  /** The media type of a whole answer. */
  wholeType = 'application/json'
  /** Writes the events beside the answer, if they depend on this stream. */
  voice: StreamVoice | undefined
  /** The tenant's limits, by header name; set as soon as they are known. */
  limits: Readonly<Record<string, string>> | undefined
  /** Further headers for this answer, name and value alternating. */
  readonly headers: string[]
  /** Ends if the client leaves before its answer is complete. */
  readonly presence = new Presence()
  #source: AnswerSource | undefined
  readonly #requestId: string
  readonly #wire: ClientWire
  readonly #outgoing: Call['outgoing']
  readonly #incoming: Call['incoming']
  readonly #clock: Clock
  readonly #deadlines: Deadlines
  #heartbeatMs = 0
  #nextHeartbeat = NEVER
  /** Not `NEVER` while the client has unread bytes. */
  #nextLook = NEVER
  #lastTakenAt = 0
  #untaken = 0
  /** The last byte that was written; CR is stored as LF. */
  #lastByte: number | undefined = LF
  /** Whether the last event has ended with an empty line. */
  #isBetween = true

  constructor(call: Call, wire: ClientWire, { clock, deadlines }: Clocks, headers: string[]) {
    this.#requestId = call.id
    this.#wire = wire
    this.#outgoing = call.outgoing
    this.#incoming = call.incoming
    this.#clock = clock
    this.#deadlines = deadlines
    this.headers = headers
    call.outgoing.tell(this)
  }

  /** Sends a heartbeat at every interval of silence, even before an attempt has answered. */
  heartbeat(intervalMs: number): void {
    if (this.state === 'ended') return
    this.#heartbeatMs = intervalMs
    this.#nextHeartbeat = this.#clock.now() + intervalMs
    this.#schedule()
    this.#deadlines.add(this)
  }

  expire(now: number): void {
    if (now >= this.#nextLook && this.#isStalled(now)) {
      this.#outgoing.destroy()
      return
    }
    // Inside an event that is too large to hold, a heartbeat waits for the end of the event.
    if (now >= this.#nextHeartbeat && this.#lastByte === LF) {
      this.#nextHeartbeat = now + this.#heartbeatMs
      // A heartbeat into a full buffer would help no client.
      if (!this.#outgoing.needsDrain) this.#beat()
    }
    this.#schedule()
  }

  /** Sends a whole answer. */
  send(status: number, contentType: string, body: string | Buffer): void {
    if (this.state !== 'unsent') return
    this.#end(status)
    if (bodyIsUnread(this.#incoming)) {
      this.#incoming.answerLast()
      if (!this.headers.includes('connection')) this.headers.push('connection', 'close')
    }
    const head = this.#head()
    head.push('content-type', contentType)
    this.#outgoing.sendWhole(status, head, body)
    this.#watchRest()
  }

  /** Opens a WebSocket, with these headers beside those of every answer. */
  upgrade(headers: readonly string[]): void {
    if (this.state !== 'unsent') return
    this.#end(101)
    // A draining gateway closes it later.
    const close = this.headers.indexOf('connection')
    if (close !== -1) this.headers.splice(close, 2)
    this.#outgoing.upgrade?.([...this.#head(), ...headers])
  }

  /** Commits a stream: from now on no other upstream can answer. */
  commit(source: AnswerSource): void {
    if (this.state === 'unsent') this.#begin()
    if (this.state === 'ended') return
    this.#source = source
    this.state = 'committed'
    this.status = 200
  }

  /**
   * Writes whole events, or pieces of an event that is too large to hold. Returns false if the source must wait for `drained`.
   */
  write(events: Buffer): boolean {
    if (this.state === 'ended') return true
    const { length } = events
    const last = events[length - 1]
    this.#lastByte = last === CR ? LF : last
    this.#isBetween = last === LF && events[length - 2] === LF
    if (this.#outgoing.write(events)) return true
    if (this.#nextLook === NEVER) this.#watch()
    return false
  }

  /** Ends a complete stream. */
  end(): void {
    if (this.state === 'ended') return
    this.#end(200)
    this.#outgoing.end()
    this.#watchRest()
  }

  /** Refuses with an answer if nothing was sent yet, otherwise with an error event and an abort. */
  refuse(error: GatewayError): void {
    if (this.state === 'ended') return
    if (this.state === 'unsent') {
      this.#refuseUnsent(error)
      return
    }
    this.#end(error.status)
    const voice = this.voice ?? this.#wire
    this.#outgoing.write(voice.refusalEvent(error, this.#requestId))
    // Pieces may wait for the next tick, and a socket that ends earlier would lose them.
    process.nextTick(() => {
      if (this.#wire.endsCleanly) this.#outgoing.end()
      else this.#outgoing.cut()
      this.#watchRest()
    })
  }

  #refuseUnsent(error: GatewayError): void {
    const { retryAfterSeconds, allow, upgrade } = error.details
    if (allow !== undefined) this.headers.push('allow', allow)
    if (upgrade !== undefined) this.headers.push('connection', 'upgrade', 'upgrade', upgrade)
    if (upgrade === 'websocket') this.headers.push('sec-websocket-version', VERSION)
    if (error.code === 'ERR_GW_AUTH_INVALID_KEY') this.headers.push('www-authenticate', 'Bearer')
    if (retryAfterSeconds !== undefined) {
      const milliseconds = String(retryAfterSeconds * 1000)
      this.headers.push('retry-after', String(retryAfterSeconds), 'retry-after-ms', milliseconds)
    }
    if (error.final) this.headers.push('x-should-retry', 'false')
    this.send(
      this.#wire.statusOf?.(error) ?? error.status,
      'application/json; charset=utf-8',
      this.#wire.refusal(error, this.#requestId),
    )
  }

  #beat(): void {
    if (this.state === 'unsent') {
      this.state = 'heartbeating'
      this.#begin()
    }
    const { heartbeat, ping = heartbeat } = this.#wire
    this.#outgoing.write(this.#isBetween ? (this.voice?.ping() ?? ping) : heartbeat)
  }

  #begin(): void {
    const head = this.#head()
    for (const text of this.#wire.streamHead) head.push(text)
    this.#outgoing.begin(head)
  }

  /** The headers of every answer. Called once, so the list may be extended in place. */
  #head(): string[] {
    const { headers: head, limits } = this
    const { requestIdHeader, limitHeaders } = this.#wire
    head.push('x-request-id', this.#requestId, 'x-gw-route', this.route)
    if (requestIdHeader !== undefined) head.push(requestIdHeader, this.#requestId)
    const shown = limits && limitHeaders ? limitHeaders(limits, this.#clock.wall()) : limits
    for (const name in shown) head.push(name, shown[name] ?? '')
    // A heartbeat commits to no upstream, so its head cannot name one.
    if (this.state !== 'heartbeating') {
      head.push('x-gw-upstream', this.upstream)
      if (this.dropped !== undefined)
        head.push('x-gw-dropped-parameters', asciiOf(this.dropped.join(', ')))
    }
    if (this.upstreamRequestId !== undefined)
      head.push('x-gw-upstream-request-id', this.upstreamRequestId)
    return head
  }

  #end(status: number): void {
    this.state = 'ended'
    this.status = status
    this.#deadlines.remove(this)
  }

  #watch(): void {
    this.#lastTakenAt = this.#clock.now()
    this.#untaken = this.#outgoing.untaken
    this.#nextLook = this.#lastTakenAt + LOOK_MS
    this.#schedule()
  }

  /** Also runs after the end: an answer that the client does not read would keep its memory and connection forever. */
  #watchRest(): void {
    if (this.#outgoing.unwritten === 0 || this.#outgoing.isQueued) return
    this.#nextHeartbeat = NEVER
    this.#watch()
    this.#deadlines.add(this)
  }

  /** `drain` fires only after everything was read, which may take minutes with a slow reader. */
  #isStalled(now: number): boolean {
    const untaken = this.#outgoing.untaken
    if (untaken < this.#untaken) this.#lastTakenAt = now
    this.#untaken = untaken
    this.#nextLook = now + LOOK_MS
    return now - this.#lastTakenAt >= STALL_MS
  }

  drained(): void {
    this.#nextLook = NEVER
    this.#schedule()
    this.#source?.drained()
  }

  /** For an answer that ended before an earlier answer on the same connection. */
  turned(): void {
    if (this.state === 'ended') this.#watchRest()
  }

  closed(): void {
    this.#deadlines.remove(this)
    if (this.state === 'ended') return
    this.left = true
    this.#end(499)
    this.presence.end()
  }

  #schedule(): void {
    this.due = Math.min(this.#nextHeartbeat, this.#nextLook)
  }
}
