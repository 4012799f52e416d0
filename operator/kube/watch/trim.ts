/** Reduces watched objects to the parts that the operator needs, because it holds thousands of them. */
import { parseJson } from '../../../dataplane/json/parse.ts'
import { isRecord, listBelow, valueBelow } from '../../../dataplane/json/values.ts'
import { type KubeObject, type Metadata, RESOURCES, type Resource } from '../objects.ts'

/** `kubectl apply` keeps a second copy of the object there. */
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration'

export function trimOf(resource: Resource): (object: KubeObject) => KubeObject {
  if (resource === RESOURCES.gatewayConfigs) return (gateway) => trim(asWritten(gateway))
  if (resource === RESOURCES.pods) return trimPod
  if (resource === RESOURCES.deployments) return trimDeployment
  if (resource === RESOURCES.gatewayKeys) return trimKey
  if (resource === RESOURCES.endpointSlices) return trimEndpointSlice
  return trim
}

/** The bookkeeping of other writers is half of an object, and the operator does not need it. */
function trim(object: KubeObject): KubeObject {
  const { managedFields: _, ...metadata } = object.metadata as Metadata & {
    readonly managedFields?: unknown
  }
  const { [LAST_APPLIED]: applied, ...annotations } = metadata.annotations ?? {}
  return { ...object, metadata: applied === undefined ? metadata : { ...metadata, annotations } }
}

/** The default of the resource type: `/scale` needs a number. */
const REPLICAS_DEFAULT = 1

/**
 * With `autoscaling`, an unwritten number of replicas is removed: the API server adds its default. A manager that
 * creates an object without server-side apply also owns the defaults, so such ownership proves nothing.
 */
export function asWritten(gateway: KubeObject): KubeObject {
  const { spec } = gateway
  if (!isRecord(spec) || spec.autoscaling === undefined) return gateway
  if (spec.replicas !== REPLICAS_DEFAULT || isNumberWritten(gateway)) return gateway
  const { replicas: _, ...rest } = spec
  return { ...gateway, spec: rest }
}

function isNumberWritten({ metadata }: KubeObject): boolean {
  const hasOwner = listBelow(metadata, 'managedFields').some(
    (one) =>
      isRecord(valueBelow(one, 'fieldsV1', 'f:spec', 'f:replicas')) &&
      (valueBelow(one, 'operation') === 'Apply' || valueBelow(one, 'subresource') === 'scale'),
  )
  if (hasOwner) return true
  try {
    const applied: unknown = parseJson(metadata.annotations?.[LAST_APPLIED] ?? 'null')
    return valueBelow(applied, 'spec', 'replicas') !== undefined
  } catch {
    return false
  }
}

function trimPod(pod: KubeObject): KubeObject {
  const { metadata, status } = trim(pod)
  const { name, namespace, uid, resourceVersion, labels, annotations, deletionTimestamp } = metadata
  const { ownerReferences } = metadata
  const identity = { name, namespace, uid, resourceVersion, labels, annotations, deletionTimestamp }
  const kept = { ...identity, ownerReferences }
  return {
    metadata: present(kept),
    status: {
      phase: valueBelow(status, 'phase'),
      podIP: valueBelow(status, 'podIP'),
      conditions: valueBelow(status, 'conditions'),
      ...(valueBelow(status, 'phase') === 'Failed' && {
        reason: valueBelow(status, 'reason'),
        message: valueBelow(status, 'message'),
      }),
      ...held(status),
    },
  }
}

/** Keeps only why containers do not run, which few have. */
function held(status: unknown): { containerStatuses?: readonly object[] } {
  const statuses = valueBelow(status, 'containerStatuses')
  const waiting = (Array.isArray(statuses) ? statuses : []).filter(
    (one) => valueBelow(one, 'state', 'waiting') !== undefined,
  )
  if (waiting.length === 0) return {}
  return { containerStatuses: waiting.map(({ state, lastState }) => ({ state, lastState })) }
}

/** Keeps only the parts of the template from which pods were made; hash and generation represent the rest. */
function trimDeployment(deployment: KubeObject): KubeObject {
  const { metadata, spec, status } = trim(deployment)
  const annotations = valueBelow(spec, 'template', 'metadata', 'annotations')
  const template = { metadata: { annotations } }
  return { metadata, status, spec: { replicas: valueBelow(spec, 'replicas'), template } }
}

/** Keeps only the number of ready endpoints, and the zones of the pods. */
function trimEndpointSlice(slice: KubeObject): KubeObject {
  const { name, namespace, uid, resourceVersion, labels } = slice.metadata
  const endpoints = Array.isArray(slice.endpoints) ? slice.endpoints : []
  // An absent condition means true.
  const ready = endpoints.filter((one) => valueBelow(one, 'conditions', 'ready') !== false).length
  const zones = Object.fromEntries(
    endpoints.flatMap((one) => {
      const [pod, zone] = [valueBelow(one, 'targetRef', 'name'), valueBelow(one, 'zone')]
      return typeof pod === 'string' && typeof zone === 'string' ? [[pod, zone]] : []
    }),
  )
  return { metadata: present({ name, namespace, uid, resourceVersion, labels }), ready, zones }
}

function trimKey(key: KubeObject): KubeObject {
  const { metadata, spec, status } = key
  const { name, namespace, uid, resourceVersion, generation } = metadata
  const { creationTimestamp, deletionTimestamp } = metadata
  const times = { creationTimestamp, deletionTimestamp }
  const kept = { name, namespace, uid, resourceVersion, generation, ...times }
  return { metadata: present(kept), spec, ...(status === undefined ? {} : { status }) }
}

type Loose<T> = { readonly [Name in keyof T]: T[Name] | undefined }

function present(metadata: Loose<Metadata> & { readonly name: string }): Metadata {
  const entries = Object.entries(metadata).filter(([, value]) => value !== undefined)
  // Only members without a value were removed.
  return Object.fromEntries(entries) as unknown as Metadata
}
