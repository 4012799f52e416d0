/** The change that applying a document to a cluster would make, from a dry run of the API server. */

import { canonicalize } from '../../dataplane/config/document/canonical.ts'
import {
  type Difference,
  differencesBetween,
  shownAsWritten,
} from '../../dataplane/config/shown/differences.ts'
import { valueBelow } from '../../dataplane/json/values.ts'
import { type KubeObject, RESOURCES } from '../../operator/kube/objects.ts'
import { rollsPods } from '../../operator/workload/rolls.ts'
import type { ClusterAccess } from '../asking/cluster-access.ts'

/** The field manager of `gw apply`. */
export const MANAGER = 'gw'

export interface Change {
  /** The object to send. */
  readonly gateway: KubeObject
  /** Absent if the gateway is new. */
  readonly live: KubeObject | undefined
  readonly differences: readonly Difference[]
  /** Whether the change needs new pods. */
  readonly rolls: boolean
}

export interface ChangeOptions {
  readonly force: boolean
  /** Drain time of replaced pods; no effect if no pod is replaced. */
  readonly drainSeconds?: number | undefined
}

export async function changeOf(
  gateway: KubeObject,
  { api }: ClusterAccess,
  { force, drainSeconds }: ChangeOptions,
): Promise<Change> {
  const { namespace, name } = gateway.metadata
  const live = await api.get(RESOURCES.gatewayConfigs, { namespace, name })
  const rehearse = (one: KubeObject) =>
    api.apply(RESOURCES.gatewayConfigs, one, { manager: MANAGER, force, dryRun: true })
  const kept = withDrain(gateway, drainOf(gateway) ?? drainOf(live))
  const outcome = await rehearse(kept)
  const rolls = live !== undefined && rollsPods(live, outcome)
  if (drainSeconds === undefined || (live !== undefined && !rolls)) {
    return { gateway: kept, live, differences: between(live, outcome), rolls }
  }
  const drained = withDrain(gateway, drainSeconds)
  return { gateway: drained, live, differences: between(live, await rehearse(drained)), rolls }
}

/** Keeps the drain time of an earlier `--drain-timeout`, because removing it would replace every pod. */
function withDrain(gateway: KubeObject, seconds: unknown): KubeObject {
  if (seconds === undefined) return gateway
  const spec = Object(gateway.spec ?? {})
  return { ...gateway, spec: { ...spec, drainTimeoutSeconds: seconds } }
}

function drainOf(gateway: KubeObject | undefined): unknown {
  return valueBelow(gateway, 'spec', 'drainTimeoutSeconds')
}

function between(live: KubeObject | undefined, next: KubeObject): Difference[] {
  const side = (object: KubeObject | undefined) => ({
    tree: shapeOf(object),
    shown: shownAsWritten,
  })
  return differencesBetween(side(live), side(next))
}

/** The part of a gateway that users write; both forms of a field are equal. */
function shapeOf(object: KubeObject | undefined): unknown {
  if (object === undefined) return {}
  const { labels, annotations } = object.metadata
  const { gw, spec } = object
  const canonical = canonicalize({ gw }).tree
  return {
    metadata: { labels, annotations: shownAnnotations(annotations) },
    spec,
    gw: valueBelow(canonical, 'gw'),
  }
}

/** kubectl stores a copy of the applied object here. */
function shownAnnotations(annotations: Readonly<Record<string, string>> | undefined) {
  if (annotations === undefined) return undefined
  const { 'kubectl.kubernetes.io/last-applied-configuration': _, ...rest } = annotations
  return rest
}
