/** A stream that has begun: its interfaces for its owner and for the relay. */
import type { Failure } from '../../wire/provider.ts'

/** Why a stream was cut: a failure of the upstream, or the error of an inspector. */
export type Breakage = Failure | Error

/** The receiver of the bytes after the answer is committed to this upstream. */
export interface Sink {
  /** false: no more until the sink has drained. */
  write(bytes: Buffer): boolean
  /** The last call. Without a failure the stream was complete. */
  finish(failure: Breakage | undefined): void
}

/** A stream that has begun, as the relay sees it. */
export interface OpenedStream {
  /** Commits: sends the held bytes, then the rest as it arrives. */
  flowTo(sink: Sink): void
  /** Pauses the upstream until the sink is known. */
  hold(): void
  /** More may be written. */
  drained(): void
  abort(reason: string): void
  /** Records that the client has left: the rest is read briefly for its usage; then `over` is called, once. */
  leave(over: () => void): void
}

/** The owner of the stream; each method is called once. */
export interface Listener {
  /** Called with the first content, or with a failure before it. */
  opened(failure: Breakage | undefined): void
  /** Called when the upstream's part ends, complete or cut by a failure. */
  ended(failure: Breakage | undefined): void
}
