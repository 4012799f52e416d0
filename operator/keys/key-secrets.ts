/** Writes new keys into Secrets. The operator writes a key once and keeps only its hash, because it may read no Secret. */
import { hash, randomBytes } from 'node:crypto'
import type { GeneratedHash, Generation } from '../../crds/gateway-key.ts'
import type { ApiClient } from '../kube/api.ts'
import { isStatus } from '../kube/api-error.ts'
import { MANAGED_LABEL, MANAGER } from '../kube/names.ts'
import { apiVersionOf, type KubeObject, RESOURCES } from '../kube/objects.ts'
import { announced, exchanged, secretNameOf } from './generated.ts'
import { makeKey, prefixOf, RANDOM_BYTES } from './key-text.ts'

export interface Exchange {
  readonly key: KubeObject
  readonly wanted: Generation
  readonly hashes: readonly GeneratedHash[]
  readonly now: number
}

/** Keeps these hashes in the status; rejects if the object has changed since. */
type Keep = (hashes: readonly GeneratedHash[]) => Promise<void>

/** Returns the valid hashes. An interrupted rotation starts again with another key. */
export async function exchange(
  api: Pick<ApiClient, 'create' | 'update'>,
  { key, wanted, hashes, now }: Exchange,
  keep: Keep,
): Promise<GeneratedHash[]> {
  const parts = { environment: 'live', id: keyPartOf(key.metadata.name) }
  const text = makeKey(parts, randomBytes(RANDOM_BYTES))
  const next = announced(hashes, {
    hash: `sha256:${hash('sha256', text)}`,
    prefix: prefixOf(parts, text),
    revision: wanted.revision,
    madeAt: new Date(now).toISOString(),
  })
  await keep(next)
  await store(api, secretOf(key, text))
  return exchanged(next, wanted, now)
}

async function store(api: Pick<ApiClient, 'create' | 'update'>, secret: KubeObject): Promise<void> {
  try {
    await api.create(RESOURCES.secrets, secret, MANAGER)
  } catch (error) {
    if (!isStatus(error, 409)) throw error
    // The chart's policy allows it if the Secret belongs to this GatewayKey.
    await api.update(RESOURCES.secrets, secret, MANAGER)
  }
}

function secretOf(key: KubeObject, text: string): KubeObject {
  const { name, namespace, uid } = key.metadata
  const { gatewayKeys } = RESOURCES
  const owner = { apiVersion: apiVersionOf(gatewayKeys), kind: gatewayKeys.kind, name, uid }
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: secretNameOf(key),
      ...(namespace && { namespace }),
      labels: { [MANAGED_LABEL]: MANAGER },
      ownerReferences: [{ ...owner, controller: true }],
    },
    type: 'Opaque',
    data: { key: Buffer.from(text).toString('base64') },
  } as KubeObject
}

/** The name in the form that a key allows. */
function keyPartOf(name: string): string {
  return name.replaceAll('.', '-').slice(0, 63)
}
