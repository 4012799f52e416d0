/** Whether an edit of a gateway replaces its pods, by the rules of the reconciler, before anything is sent. */

import { WorkloadSpec } from '../../crds/workload.ts'
import type { Payload } from '../../dataplane/delivery/signed.ts'
import { isRecord } from '../../dataplane/json/values.ts'
import { needsOf } from '../compile/needs.ts'
import type { KubeObject } from '../kube/objects.ts'
import { desiredDeployment, templateHashOf } from './made-with.ts'
import { drainSecondsOf, type WorkloadSettings } from './settings.ts'

/** The same on both sides, so it decides nothing. */
const RELEASE = { image: 'gw', version: '0', operatorNamespace: 'gw' }

/** Also true where an invalid side prevents a comparison. */
export function rollsPods(live: KubeObject, next: KubeObject): boolean {
  const [before, after] = [settingsOf(live), settingsOf(next)]
  if (before === undefined || after === undefined) return true
  const running = desiredDeployment(before, undefined)
  const desired = desiredDeployment({ ...after, gateway: before.gateway }, running)
  return templateHashOf(running) !== templateHashOf(desired)
}

function settingsOf(gateway: KubeObject): WorkloadSettings | undefined {
  const spec = WorkloadSpec.safeParse(gateway.spec ?? {})
  if (!spec.success) return undefined
  const payload: Payload = {
    apiVersion: 'inference.gw/v1',
    kind: 'GatewayConfig',
    metadata: { name: gateway.metadata.name, namespace: gateway.metadata.namespace ?? '' },
    gw: isRecord(gateway.gw) ? gateway.gw : {},
  }
  const needs = needsOf(payload)
  const drainSeconds = drainSecondsOf(spec.data, needs.requestTimeoutSeconds)
  return { gateway, spec: spec.data, needs, drainSeconds, release: RELEASE }
}
