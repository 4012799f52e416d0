/** A stream that has begun, as its owner and the relay see it. */
import type { Failure } from '../../wire/provider.ts'

/** Why a stream ends before its end: a failure of the upstream, or the error with which an inspector ended it. */
export type Breakage = Failure | Error

/** Where the bytes go once the answer is committed to this upstream. */
export interface Sink {
  /** false: no more until the sink has drained. */
  write(bytes: Buffer): boolean
  /** The last call. Without a failure the stream was complete. */
  finish(failure: Breakage | undefined): void
}

/** A stream that has begun, as the relay sees it. */
export interface OpenedStream {
  /** Commits: what was held goes out, the rest follows as it comes. */
  flowTo(sink: Sink): void
  /** The sink is not known yet: the upstream waits until then. */
  hold(): void
  /** More may be written. */
  drained(): void
  abort(reason: string): void
  /** The client has left: the rest is read for its usage, for a short time; then `over` is called, once. */
  leave(over: () => void): void
}

/** The owner of the stream; each method is called once. */
export interface Listener {
  /** With the first content, or with the failure that came before it. */
  opened(failure: Breakage | undefined): void
  /** The upstream's part is over: completely, or by the failure that cut it. */
  ended(failure: Breakage | undefined): void
}
