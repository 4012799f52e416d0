/** The two documents of a gateway: signed, and stored in the ConfigMap that its pods mount. */
import { gunzipSync, gzipSync } from 'node:zlib'
import { proofOf } from '../../dataplane/delivery/push-proof.ts'
import {
  type ConfigurationDocument,
  type Envelope,
  type GatewayIdentity,
  hashOf,
  KEYS_UNPACKED_BYTES_MAX,
  type KeyRecord,
  type Payload,
  sign,
  trustOf,
  verify,
} from '../../dataplane/delivery/signed.ts'
import { parseJson } from '../../dataplane/json/parse.ts'
import { isRecord, valueBelow } from '../../dataplane/json/values.ts'
import { digestOf, digestOfOne, legacyDigestOf } from '../compile/key-digests.ts'
import { type Needs, needsOf } from '../compile/needs.ts'
import type { KubeObject } from '../kube/objects.ts'
import type { SigningKeys } from './signing-keys.ts'

/** One document for a pod, and the pod's reply after it has the document. */
export interface SentDocument {
  readonly sequence: number
  /** The hash that a pod reports once it enforces the document. */
  readonly hash: string
  readonly documentHash: string
  readonly keyId: string
  /** The envelope as JSON. */
  readonly text: string
  /** Headers that prove the whole document when it is pushed; pods accept no other. */
  readonly proof: Proof
}

type Proof = Readonly<Record<string, string>>

export interface OutgoingConfiguration extends SentDocument {
  readonly generation: number
  readonly needs: Needs
}

export interface OutgoingKeys extends SentDocument {
  readonly records: readonly KeyRecord[]
  /** The hash that pods of releases up to 1.4 report instead of `hash`. */
  readonly legacyHash: string
  /** Gzipped `text`. */
  readonly packed: Buffer
  /** The change from the previous keys, for pods that have these. */
  readonly changes?: { readonly base: number; readonly text: string; readonly proof: Proof }
}

export interface Stored {
  readonly configuration?: OutgoingConfiguration
  readonly keys?: OutgoingKeys
}

const CONFIGURATION_MEMBER = 'config.json'
const KEYS_MEMBER = 'keys.json.gz'

export function signConfiguration(
  payload: Payload,
  facts: { gateway: GatewayIdentity; sequence: number; generation: number },
  keys: SigningKeys,
): OutgoingConfiguration {
  const envelope = sign({ kind: 'Configuration', payload, ...facts }, keys.privateKey)
  return {
    ...outgoing(envelope, facts.sequence, hashOf(payload)),
    proof: proofOf(JSON.stringify(envelope), { path: '/config', uid: facts.gateway.uid }, keys),
    generation: facts.generation,
    needs: needsOf(payload),
  }
}

export function signKeys(
  records: readonly KeyRecord[],
  facts: { gateway: GatewayIdentity; sequence: number; before?: OutgoingKeys | undefined },
  keys: SigningKeys,
): OutgoingKeys {
  const { gateway, sequence, before } = facts
  const full = sign({ kind: 'Keys', gateway, sequence, keys: records }, keys.privateKey)
  const legacyHash = legacyDigestOf(records)
  const whole = { ...outgoing(full, sequence, digestOf(records)), legacyHash }
  // Copied, because the buffers of zlib are views of larger ones.
  const packed = Buffer.from(new Uint8Array(gzipSync(whole.text)).buffer)
  const addressee = { path: '/keys', uid: gateway.uid }
  const proof = proofOf(packed, addressee, keys)
  if (before === undefined) return { ...whole, records, packed, proof }
  const changes = { base: before.sequence, ...difference(before.records, records) }
  const step = sign({ kind: 'Keys', gateway, sequence, changes }, keys.privateKey)
  const text = JSON.stringify(step)
  return {
    ...whole,
    records,
    packed,
    proof,
    changes: { base: before.sequence, text, proof: proofOf(text, addressee, keys) },
  }
}

function difference(before: readonly KeyRecord[], after: readonly KeyRecord[]) {
  const old = new Map(before.map((record) => [record.hash, record]))
  const put = after.filter((record) => {
    const known = old.get(record.hash)
    if (known === record) return false
    return known === undefined || digestOfOne(known) !== digestOfOne(record)
  })
  const kept = new Set(after.map(({ hash }) => hash))
  return { put, remove: before.map(({ hash }) => hash).filter((hash) => !kept.has(hash)) }
}

function outgoing(envelope: Envelope, sequence: number, hash: string): Omit<SentDocument, 'proof'> {
  const { sha256, keyId } = envelope
  return { sequence, hash, documentHash: sha256, keyId, text: JSON.stringify(envelope) }
}

/** The largest size of a ConfigMap. */
const CONFIG_MAP_BYTES_MAX = 1024 * 1024

/** Throws an error with a fix if the data exceed a ConfigMap, before the API server refuses them. */
export function bundleData({ configuration, keys }: Stored) {
  const forKeys = CONFIG_MAP_BYTES_MAX - Buffer.byteLength(configuration?.text ?? '')
  if (keys !== undefined && keys.packed.length > forKeys) {
    throw new Error(
      `${keys.records.length} keys take ${keys.packed.length} bytes packed, and ${forKeys} are left beside the ` +
        'configuration: the pods keep their present keys. Delete expired or revoked GatewayKeys, or split the gateway',
    )
  }
  return {
    ...(configuration && { data: { [CONFIGURATION_MEMBER]: configuration.text } }),
    ...(keys && { binaryData: { [KEYS_MEMBER]: keys.packed.toString('base64') } }),
  }
}

/** Reads the ConfigMap of this gateway; a document without a valid signature counts as absent. */
export function readStored(configMap: KubeObject, uid: string, keys: SigningKeys): Stored {
  const trust = trustOf(Object.values(keys.trusted))
  const open = (text: string) => {
    const envelope: unknown = parseJson(text)
    const verdict = verify(envelope, trust)
    const isOurs = verdict.ok && valueBelow(verdict.document, 'gateway', 'uid') === uid
    if (!verdict.ok || !isOurs) return undefined
    // `sign` above has made it.
    return { envelope: envelope as Envelope, document: verdict.document }
  }
  const prove: Prove = (body, path) => proofOf(body, { path, uid }, keys)
  return {
    ...attempt(() => readConfiguration(configMap, open, prove)),
    ...attempt(() => readKeys(configMap, open, prove)),
  }
}

type Prove = (body: string | Buffer, path: '/config' | '/keys') => Proof
type Open = (text: string) => { envelope: Envelope; document: unknown } | undefined

function readConfiguration(configMap: KubeObject, open: Open, prove: Prove): Stored {
  const text = valueBelow(configMap, 'data', CONFIGURATION_MEMBER)
  const opened = typeof text === 'string' ? open(text) : undefined
  if (opened === undefined) return {}
  const { payload, sequence, generation } = opened.document as ConfigurationDocument
  const whole = outgoing(opened.envelope, sequence, hashOf(payload))
  return {
    configuration: {
      ...whole,
      proof: prove(whole.text, '/config'),
      generation,
      needs: needsOf(payload),
    },
  }
}

function readKeys(configMap: KubeObject, open: Open, prove: Prove): Stored {
  const encoded = valueBelow(configMap, 'binaryData', KEYS_MEMBER)
  if (typeof encoded !== 'string') return {}
  const packed = Buffer.from(encoded, 'base64')
  const opened = open(gunzipSync(packed, { maxOutputLength: KEYS_UNPACKED_BYTES_MAX }).toString())
  if (opened === undefined || !isRecord(opened.document)) return {}
  const records = opened.document.keys as readonly KeyRecord[]
  const sequence = Number(opened.document.sequence)
  const legacyHash = legacyDigestOf(records)
  const whole = { ...outgoing(opened.envelope, sequence, digestOf(records)), legacyHash }
  return { keys: { ...whole, records, packed, proof: prove(packed, '/keys') } }
}

function attempt(read: () => Stored): Stored {
  try {
    return read()
  } catch {
    return {}
  }
}
