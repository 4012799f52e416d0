/** The documents that an operator signs and a pod checks: the configuration, the keys, and endpoints of upstreams. */
import {
  createPrivateKey,
  createPublicKey,
  hash,
  type KeyObject,
  sign as signBytes,
  verify as verifyBytes,
} from 'node:crypto'
import type { z } from 'zod'
import { parseJson } from '../json/parse.ts'
import type { ApiKey } from '../schema/keys.ts'

/** Port where a pod receives documents, unless GW_PUSH_PORT is set. Plain HTTP: the documents carry their own proof. */
export const PUSH_PORT = 9092

/** Bounds of a body, as sent and as unpacked; a ConfigMap holds at most 1 MiB of either. */
export const CONFIGURATION_BYTES_MAX = 4_194_304
export const KEYS_BYTES_MAX = 4_194_304
export const KEYS_UNPACKED_BYTES_MAX = 33_554_432
export const ENDPOINTS_BYTES_MAX = 1_048_576

/** Names in the mounted folder. The keys are gzipped. */
export const BUNDLE_FILES = {
  desired: 'config.json',
  lastKnownGood: 'lkg-config.json',
  keys: 'keys.json.gz',
  endpoints: 'endpoints.json',
} as const

/** Deeper trees are refused: the functions that walk them recurse. */
const DEPTH_MAX = 64

/** The gateway that a document is for. */
export interface GatewayIdentity {
  readonly uid: string
  readonly namespace: string
  readonly name: string
}

/** The user's document, references unresolved. `metadata` has name and namespace only; `api_keys` are left out: they are keys. */
export interface Payload {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace: string }
  readonly gw: Readonly<Record<string, unknown>>
}

export interface ConfigurationDocument {
  readonly kind: 'Configuration'
  readonly gateway: GatewayIdentity
  readonly sequence: number
  /** `metadata.generation` of what the user wrote. */
  readonly generation: number
  readonly payload: Payload
}

/** As in `gw.api_keys`: never the key, only its hash. An operator of another release may have other scopes. */
export type KeyRecord = {
  readonly [M in keyof KeyInput]: KeyInput[M] extends readonly string[] | undefined
    ? readonly string[]
    : Exclude<KeyInput[M], undefined>
}

type KeyInput = z.input<typeof ApiKey>

/** All keys. */
export interface KeysDocument {
  readonly kind: 'Keys'
  readonly gateway: GatewayIdentity
  readonly sequence: number
  readonly keys: readonly KeyRecord[]
}

/** The changes from the keys of sequence `base` to those of `sequence`. */
export interface KeyChangesDocument {
  readonly kind: 'Keys'
  readonly gateway: GatewayIdentity
  readonly sequence: number
  readonly changes: {
    readonly base: number
    readonly put: readonly KeyRecord[]
    /** `hash` of each removed record. */
    readonly remove: readonly string[]
  }
}

/** The endpoints of every upstream with pods, complete. */
export interface EndpointsDocument {
  readonly kind: 'Endpoints'
  readonly gateway: GatewayIdentity
  readonly sequence: number
  readonly upstreams: readonly {
    readonly name: string
    readonly endpoints: readonly {
      /** The pod's uid and the port: a new pod at an old address is another endpoint. */
      readonly id: string
      readonly address: string
      readonly port: number
      readonly zone?: string
    }[]
  }[]
  /** Upstreams with unknown endpoints at present, for which the pod keeps its last ones. */
  readonly unknown?: readonly string[]
  /** The zones of the gateway's own pods, by their names. */
  readonly zones?: Readonly<Record<string, string>>
}

export type SignedDocument =
  | ConfigurationDocument
  | KeysDocument
  | KeyChangesDocument
  | EndpointsDocument

export interface Envelope {
  /** Canonical JSON. */
  readonly document: string
  /** SHA-256 of the document's bytes, hex. */
  readonly sha256: string
  /** The public key that proves it; see `keyIdOf`. */
  readonly keyId: string
  /** Ed25519 over the document's bytes, base64. */
  readonly signature: string
}

/** Public keys by their id. */
export type Trust = ReadonlyMap<string, KeyObject>

export type Verification =
  /** The content of the document must still be checked. */
  | { readonly ok: true; readonly document: unknown }
  | {
      readonly ok: false
      readonly reason: 'malformed' | 'untrusted_key' | 'bad_signature'
      readonly message: string
    }

/** Signs with an Ed25519 private key: a KeyObject, or PKCS #8 in PEM. */
export function sign(document: SignedDocument, privateKey: KeyObject | string): Envelope {
  const key = typeof privateKey === 'string' ? createPrivateKey(privateKey) : privateKey
  const text = canonicalJson(document)
  return {
    document: text,
    sha256: hash('sha256', text),
    keyId: keyIdOf(createPublicKey(key)),
    signature: signBytes(null, Buffer.from(text), key).toString('base64'),
  }
}

/** Whether a trusted key signed exactly these bytes. */
export function verify(envelope: unknown, trust: Trust): Verification {
  if (!isEnvelope(envelope)) {
    const message = 'The body must be {document, sha256, keyId, signature}, each of them text.'
    return { ok: false, reason: 'malformed', message }
  }
  const { document, sha256, keyId, signature } = envelope
  const key = trust.get(keyId)
  if (key === undefined) {
    const message = 'No trusted public key has this keyId; mount the public key, then send again.'
    return { ok: false, reason: 'untrusted_key', message }
  }
  const bytes = Buffer.from(document)
  const isProven =
    hash('sha256', bytes) === sha256 && verifyBytes(null, bytes, key, bytesOf(signature))
  if (!isProven) {
    const message = 'The hash or the signature does not match the document; sign it again.'
    return { ok: false, reason: 'bad_signature', message }
  }
  try {
    return { ok: true, document: parseJson(document) }
  } catch {
    return { ok: false, reason: 'malformed', message: 'The document is not JSON.' }
  }
}

function isEnvelope(value: unknown): value is Envelope {
  if (typeof value !== 'object' || value === null) return false
  return ['document', 'sha256', 'keyId', 'signature'].every(
    (name) =>
      name in value && typeof Object.getOwnPropertyDescriptor(value, name)?.value === 'string',
  )
}

/** The first 16 hex digits of the SHA-256 of the public key (SPKI, DER). */
export function keyIdOf(publicKey: KeyObject): string {
  return hash('sha256', publicKey.export({ type: 'spki', format: 'der' })).slice(0, 16)
}

/** Throws if a text is not an Ed25519 public key in PEM. */
export function trustOf(pems: readonly string[]): Trust {
  return new Map(
    pems.map((pem) => {
      // A private key would be read as its public half; it must not be here at all.
      if (pem.includes('PRIVATE KEY')) throw new Error('is a private key; mount the public one')
      const key = createPublicKey(pem)
      if (key.asymmetricKeyType !== 'ed25519') throw new Error('is not an Ed25519 public key')
      return [keyIdOf(key), key]
    }),
  )
}

/** One text for one value: members sorted by name, no spaces, members without a value left out. */
export function canonicalJson(value: unknown): string {
  return write(value, 0)
}

/** SHA-256 of the canonical JSON, hex. For a payload, status compares this hash of the configuration. */
export function hashOf(value: unknown): string {
  return hash('sha256', canonicalJson(value))
}

/** The same for the same set of records in any order, and for no other set that an attacker can make. */
export function keysHashOf(records: Iterable<KeyRecord>): string {
  return setHashOf([...records].map(recordDigest))
}

/** SHA-256 over the sorted digests, because an attacker can choose records with a given sum of digests. */
export function setHashOf(digests: Iterable<string>): string {
  return hash('sha256', [...digests].sort().join(''))
}

/** Releases up to 1.4 compare this XOR of the digests. It shows them that a pod has its keys, and has no other use. */
export function legacyHashOf(digests: Iterable<string>): string {
  const sum = Buffer.alloc(32)
  for (const digest of digests) {
    const bytes = Buffer.from(digest, 'hex')
    for (let at = 0; at < 32; at += 4)
      sum.writeInt32BE(sum.readInt32BE(at) ^ bytes.readInt32BE(at), at)
  }
  return sum.toString('hex')
}

/** Hex. */
export function recordDigest(record: KeyRecord): string {
  return hashOf(record)
}

function write(value: unknown, depth: number): string {
  if (depth > DEPTH_MAX) throw new RangeError(`the document is nested deeper than ${DEPTH_MAX}`)
  if (Array.isArray(value)) {
    return `[${value.map((entry) => write(entry ?? null, depth + 1)).join(',')}]`
  }
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value)
      .filter(([, entry]) => entry !== undefined)
      .sort(([left], [right]) => (left < right ? -1 : 1))
      .map(([name, entry]) => `${JSON.stringify(name)}:${write(entry, depth + 1)}`)
    return `{${members.join(',')}}`
  }
  if (typeof value === 'number' && !Number.isFinite(value)) {
    throw new RangeError('the document holds a number that JSON cannot write')
  }
  const text = JSON.stringify(value)
  if (text === undefined) throw new TypeError(`the document holds a ${typeof value}`)
  return text
}

/** Empty for another spelling of the same bytes: Node also reads URL-safe letters and unused bits. */
function bytesOf(signature: string): Buffer {
  const bytes = Buffer.from(signature, 'base64')
  return bytes.toString('base64') === signature ? bytes : Buffer.alloc(0)
}
