/** The proof of a pushed body. It is sent in headers, so that it is checked before a byte of the body is read. */
import { hash, type KeyObject, sign as signBytes, verify as verifyBytes } from 'node:crypto'
import type { Trust, Verification } from './signed.ts'

/** The destination of a body: the same bytes prove nothing at another path or gateway. */
export interface Addressee {
  readonly path: string
  /** The uid of the gateway. */
  readonly uid: string
}

const KEY_ID = 'x-gw-key-id'
const DIGEST = 'x-gw-body-sha256'
const SIGNATURE = 'x-gw-signature'

/** Headers that prove these bytes, as sent: packed bodies are proven packed. */
export function proofOf(
  body: string | Buffer,
  addressee: Addressee,
  { privateKey, keyId }: { readonly privateKey: KeyObject; readonly keyId: string },
): Readonly<Record<string, string>> {
  const digest = hash('sha256', body)
  const signature = signBytes(null, statement(addressee, digest), privateKey).toString('base64')
  return { [KEY_ID]: keyId, [DIGEST]: digest, [SIGNATURE]: signature }
}

export type ProvenHeaders =
  /** SHA-256 that the bytes of the body must have, hex. */
  { readonly digest: string } | Exclude<Verification, { readonly ok: true }>

type RequestHeaders = Readonly<Record<string, string | readonly string[] | undefined>>

/** `trust` is read only if the headers contain a proof. */
export function judgeProof(
  headers: RequestHeaders,
  addressee: Addressee,
  trust: () => Trust,
): ProvenHeaders {
  const [keyId, digest, signature] = [KEY_ID, DIGEST, SIGNATURE].map((name) => headers[name])
  const isThere =
    typeof keyId === 'string' && typeof digest === 'string' && typeof signature === 'string'
  if (!isThere || !/^[0-9a-f]{64}$/.test(digest)) {
    const names = `${KEY_ID}, ${DIGEST} and ${SIGNATURE}`
    const message = `The headers ${names} must prove the body; update the operator, which then sends them.`
    return { ok: false, reason: 'bad_signature', message }
  }
  const key = trust().get(keyId)
  if (key === undefined) {
    const message = 'No trusted public key has this key id; mount the public key, then send again.'
    return { ok: false, reason: 'untrusted_key', message }
  }
  const bytes = Buffer.from(signature, 'base64')
  if (verifyBytes(null, statement(addressee, digest), key, bytes)) return { digest }
  const message = 'The signature does not match the path, the gateway and the digest; sign again.'
  return { ok: false, reason: 'bad_signature', message }
}

function statement({ path, uid }: Addressee, digest: string): Buffer {
  return Buffer.from(`gw-push-1\n${path}\n${uid}\n${digest}`)
}
