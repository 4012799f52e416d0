/** Checks first that an envelope comes from this gateway's operator, and returns its document. */
import { readTrust } from '../delivery/bundle.ts'
import { type Envelope, type Verification, verify } from '../delivery/signed.ts'
import type { ReadDocument } from '../delivery/signed-shape.ts'

/** The response of a pod to a document. */
export interface PodResponse {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
}

export type Proven<T> =
  | { readonly document: T; readonly documentHash: string }
  | { readonly refusal: PodResponse }

interface Addressed {
  readonly gateway: { readonly uid: string }
}

const STATUS = { malformed: 400, untrusted_key: 403, bad_signature: 401 } as const

export interface ProofOptions<T> {
  readonly trustFolder: string
  /** The gateway whose pod this is. */
  readonly uid: string
  read(value: unknown): ReadDocument<T>
}

/** Reads the folder each time: documents are rare, and keys may have been replaced. */
export function prove<T extends Addressed>(
  envelope: unknown,
  { trustFolder, uid, read }: ProofOptions<T>,
): Proven<T> {
  const { trust } = readTrust(trustFolder)
  const verdict = verify(envelope, trust)
  if (!verdict.ok) {
    return { refusal: refuseProof(verdict) }
  }
  const found = read(verdict.document)
  if ('fault' in found) {
    const message = `The document is signed but not of this kind: ${found.fault}.`
    return { refusal: refuse(400, 'malformed', message) }
  }
  const { document } = found
  if (document.gateway.uid !== uid) {
    const message = 'The document is for another gateway; send it to that gateway.'
    return { refusal: refuse(403, 'other_gateway', message) }
  }
  // The proof has just been checked.
  return { document, documentHash: (envelope as Envelope).sha256 }
}

export function refuseProof({ reason, message }: Exclude<Verification, { ok: true }>): PodResponse {
  return refuse(STATUS[reason], reason, message)
}

export function refuse(
  status: number,
  reason: string,
  message: string,
  facts: Readonly<Record<string, unknown>> = {},
): PodResponse {
  return { status, body: { reason, message, ...facts } }
}
