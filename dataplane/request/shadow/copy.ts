/** Decides whether a request gets a copy, and listens to the answer of the client for the comparison. */
import { COPY_BYTES_MAX } from '../../rollout/shadows.ts'
import type { ShadowSection } from '../../schema/index.ts'
import type { Operation } from '../../wire/inner-form.ts'
import type { Reply } from '../stages/relay.ts'
import { type CopiedRequest, Heard } from './heard.ts'
import { sendCopy } from './send.ts'

/** A rerank has no text to compare, and a recording is as expensive as its request. */
const COPIED: ReadonlySet<Operation> = new Set(['chat', 'completions', 'embeddings'])

/** undefined: no copy is sent. */
export function copyOf(copied: CopiedRequest): Copy | undefined {
  const { gateway, admission, active, request } = copied
  const { name, section } = admission.route
  const { shadow } = section
  if (shadow === undefined || !COPIED.has(request.operation)) return undefined
  // A stored response is at its upstream alone.
  if (request.keepers !== undefined || gateway.draining) return undefined
  if (gateway.random() * 100 >= shadow.percent) return undefined
  const { shadows } = gateway
  if (active.placement?.permitted.has(shadow.upstream) === false) shadows.count(name, 'not_placed')
  else if (request.bytes.length > COPY_BYTES_MAX) shadows.count(name, 'too_large')
  else return new Copy(copied, shadow)
  return undefined
}

export class Copy {
  readonly #copied: CopiedRequest
  readonly #shadow: ShadowSection
  readonly #heard: Heard

  constructor(copied: CopiedRequest, shadow: ShadowSection) {
    this.#copied = copied
    this.#shadow = shadow
    this.#heard = new Heard(shadow.keep_texts)
  }

  /** The same reply, whose bytes are counted. */
  listening(reply: Reply): Reply {
    if (reply.kind === 'stream') return { ...reply, stream: this.#heard.in(reply.stream) }
    this.#heard.hear(Buffer.from(reply.body))
    return reply
  }

  /** Sends the copy; called after the client has its answer, and never throws. */
  start(): void {
    sendCopy(this.#copied, this.#shadow, this.#heard)
  }
}
