/** The key that signs documents: a Secret next to the operator, the only Secret that it may use. */

import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { keyIdOf } from '../../dataplane/delivery/signed.ts'
import { isRecord } from '../../dataplane/json/values.ts'
import type { ApiClient } from '../kube/api.ts'
import { isStatus } from '../kube/api-error.ts'
import { MANAGED_LABEL, MANAGER } from '../kube/names.ts'
import { type KubeObject, RESOURCES } from '../kube/objects.ts'

/** The member that signs; every other `*.pem` is only trusted, so that a key can be replaced in two steps. */
const SIGNING = 'signing.pem'

export interface SigningKeys {
  readonly privateKey: KeyObject
  readonly keyId: string
  /** Public halves in PEM by file name, for the pods' mounts. */
  readonly trusted: Readonly<Record<string, string>>
}

export interface SigningPlace {
  readonly namespace: string
  readonly name: string
}

/** Makes a missing key. Throws if the key exists and cannot be used: another one would cut off all pods. */
export async function loadSigningKeys(api: ApiClient, place: SigningPlace): Promise<SigningKeys> {
  const stored = await api.get(RESOURCES.secrets, place)
  if (stored !== undefined && !isEmpty(stored)) return readSigningKeys(stored)
  try {
    const empty = stored ?? (await api.create(RESOURCES.secrets, emptySecret(place), MANAGER))
    // Sent with the version that was read, so that only one of two operators writes.
    const filled = { ...empty, data: newKey() }
    return readSigningKeys(await api.update(RESOURCES.secrets, filled, MANAGER))
  } catch (error) {
    // Another operator was faster, so its key is used.
    if (!isStatus(error, 409)) throw error
    const made = await api.get(RESOURCES.secrets, place)
    if (made === undefined || isEmpty(made)) throw error
    return readSigningKeys(made)
  }
}

/** A release creates the Secret empty, so that it is deleted with the release. */
function isEmpty({ data }: KubeObject): boolean {
  return !isRecord(data) || Object.keys(data).length === 0
}

export function readSigningKeys(secret: KubeObject): SigningKeys {
  const { namespace, name } = secret.metadata
  const data = isRecord(secret.data) ? secret.data : {}
  const trusted: Record<string, string> = {}
  let privateKey: KeyObject | undefined
  for (const [member, encoded] of Object.entries(data)) {
    if (!member.endsWith('.pem') || typeof encoded !== 'string') continue
    const pem = Buffer.from(encoded, 'base64').toString()
    const key = readPem(pem, `${namespace}/${name}: ${member}`)
    if (member === SIGNING && key.type === 'private') privateKey = key
    const publicKey = key.type === 'private' ? createPublicKey(key) : key
    const id = keyIdOf(publicKey)
    trusted[`${id}.pem`] = publicKey.export({ type: 'spki', format: 'pem' }).toString()
  }
  if (privateKey === undefined) {
    throw new Error(
      `the Secret ${namespace}/${name} has no private key in ${SIGNING}; restore it, or delete the Secret to have a new one made`,
    )
  }
  return { privateKey, keyId: keyIdOf(createPublicKey(privateKey)), trusted }
}

/** The error names the field, never the content. */
function readPem(pem: string, where: string): KeyObject {
  try {
    const key = pem.includes('PRIVATE KEY') ? createPrivateKey(pem) : createPublicKey(pem)
    if (key.asymmetricKeyType === 'ed25519') return key
  } catch {
    // Said below.
  }
  throw new Error(`${where} is not an Ed25519 key in PEM`)
}

function emptySecret({ namespace, name }: SigningPlace): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace, name, labels: { [MANAGED_LABEL]: MANAGER } },
    type: 'Opaque',
  }
}

function newKey(): Readonly<Record<string, string>> {
  const { privateKey } = generateKeyPairSync('ed25519')
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  return { [SIGNING]: Buffer.from(pem).toString('base64') }
}
