/** Writes long request bodies in steps. */
import { LARGE_BYTES } from '../../base/heavy-work.ts'
import { inSteps } from '../../base/steps.ts'
import { Unwritten } from '../../json/unwritten.ts'
import type { ModelRequest } from '../../wire/inner-form.ts'
import type { UpstreamRequest, WrittenRequest } from '../../wire/provider.ts'
import type { Encoded } from './pool-request.ts'

/** A request in an upstream's wire, with its body as bytes. */
export type Written = Encoded<WrittenRequest>

/** Encodes a request. A large one gets a separate turn, and its body is written in steps. Throws what `encode` throws. */
export function writtenOut(
  { bytes }: Pick<ModelRequest, 'bytes'>,
  encode: () => Encoded | undefined,
): Written | undefined | Promise<Written | undefined> {
  if (bytes.length > LARGE_BYTES) return inSteps(writingOut(encode))
  const encoded = encode()
  return encoded === undefined || isWritten(encoded)
    ? (encoded as Written | undefined)
    : inSteps(writingOut(() => encoded))
}

function isWritten({ upstream, calls }: Pick<Encoded, 'upstream' | 'calls'>): boolean {
  return !(upstream.body instanceof Unwritten) && (calls?.every(isWritten) ?? true)
}

function* writingOut(encode: () => Encoded | undefined): Generator<undefined, Written | undefined> {
  const encoded = encode()
  if (encoded === undefined) return undefined
  yield
  const { calls, ...rest } = encoded
  if (calls === undefined) return { ...rest, upstream: yield* writingBody(rest.upstream) }
  const written = []
  for (const call of calls) written.push({ ...call, upstream: yield* writingBody(call.upstream) })
  const [first] = written
  // A batch that is too large is not empty.
  const { upstream } = first as NonNullable<typeof first>
  return { ...rest, upstream, calls: written }
}

/** The pages of a body stay separate, because joining would copy them once more. */
export function* writingBody(upstream: UpstreamRequest): Generator<undefined, WrittenRequest> {
  const { body } = upstream
  if (!(body instanceof Unwritten)) return { ...upstream, body }
  const [first = NO_BYTES, ...rest] = yield* body.steps()
  return { ...upstream, body: first, rest: [...rest, ...(upstream.rest ?? [])] }
}

const NO_BYTES = Buffer.alloc(0)
