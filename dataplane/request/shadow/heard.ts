/** A request of which a copy is sent, and what is remembered of each of its two answers. */
import type { Active } from '../../gateway/active.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import type { Applicant } from '../../limits/decision.ts'
import type { Trace } from '../../telemetry/trace/fields.ts'
import type { OpenedStream, Sink } from '../../upstream/answer/opened-stream.ts'
import type { Dialect } from '../../wire/dialect.ts'
import type { ModelRequest } from '../../wire/inner-form.ts'
import type { Admission } from '../stages/admit.ts'

/** The request of the client, as its upstream got it. */
export interface CopiedRequest {
  readonly request: ModelRequest
  readonly dialect: Dialect
  readonly applicant: Applicant
  readonly admission: Admission
  readonly active: Active
  readonly gateway: Gateway
  /** Complete by the time the copy is answered. */
  readonly trace: Trace
}

const TEXT_BYTES_MAX = 16_384

/** The length of an answer and, if texts are kept, its beginning. */
export class Heard {
  readonly #keeps: boolean
  #kept: Buffer[] = []
  #keptBytes = 0
  bytes = 0

  constructor(keeps: boolean) {
    this.#keeps = keeps
  }

  get text(): string | undefined {
    if (!this.#keeps) return undefined
    return Buffer.concat(this.#kept).toString('utf8').toWellFormed()
  }

  hear(bytes: Buffer): void {
    this.bytes += bytes.length
    if (!this.#keeps || this.#keptBytes >= TEXT_BYTES_MAX) return
    const piece = Buffer.from(bytes.subarray(0, TEXT_BYTES_MAX - this.#keptBytes))
    this.#kept.push(piece)
    this.#keptBytes += piece.length
  }

  in(stream: OpenedStream): OpenedStream {
    const listening = (sink: Sink): Sink => ({
      write: (bytes) => {
        this.hear(bytes)
        return sink.write(bytes)
      },
      finish: (failure) => sink.finish(failure),
    })
    return {
      flowTo: (sink) => stream.flowTo(listening(sink)),
      hold: () => stream.hold(),
      drained: () => stream.drained(),
      abort: (reason) => stream.abort(reason),
      leave: (over) => stream.leave(over),
    }
  }
}
