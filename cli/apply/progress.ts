/** Waits until every pod of a gateway enforces the applied configuration, and reports each pod. */
import { setTimeout as delay } from 'node:timers/promises'
import { GatewayStatus } from '../../crds/gateway-config.ts'
import { type KubeObject, RESOURCES } from '../../operator/kube/objects.ts'
import type { ClusterAccess } from '../asking/cluster-access.ts'
import { AnswerIsNo, printRemark } from '../printing/output.ts'

const LOOK_MS = 400
/** After this time the command prints the reason for the wait. */
const QUIET_MS = 1000

export interface ProgressWait {
  readonly generation: number
  readonly timeoutMs: number
}

export type Waited =
  | { readonly kind: 'programmed'; readonly status: GatewayStatus }
  | { readonly kind: 'refused'; readonly why: string; readonly status: GatewayStatus }
  | { readonly kind: 'late'; readonly why: string; readonly status: GatewayStatus }

export async function untilProgrammed(
  { metadata: { name, namespace } }: KubeObject,
  { api }: ClusterAccess,
  { generation, timeoutMs }: ProgressWait,
): Promise<Waited> {
  const startedAt = performance.now()
  const shown = new Map<string, string>()
  for (;;) {
    const object = await api.get(RESOURCES.gatewayConfigs, { namespace, name })
    if (object === undefined) throw new AnswerIsNo(`GatewayConfig "${name}" was deleted meanwhile.`)
    const status = GatewayStatus.parse(object.status ?? {})
    if ((status.observedGeneration ?? 0) >= generation) tellOfPods(status, shown)
    const waitedMs = performance.now() - startedAt
    const verdict = verdictOf(status, generation)
    if (verdict !== undefined) return verdict
    if (waitedMs >= QUIET_MS) tell('', `waiting: ${whyNotYet(status, generation)}`, shown)
    if (waitedMs >= timeoutMs) return { kind: 'late', why: whyNotYet(status, generation), status }
    await delay(LOOK_MS)
  }
}

function verdictOf(status: GatewayStatus, generation: number): Waited | undefined {
  const condition = (type: string) => conditionOf(status, type, generation)
  const [accepted, programmed, available] = ['Accepted', 'Programmed', 'WorkloadAvailable'].map(
    condition,
  )
  // A paused gateway keeps its configuration, so waiting cannot help.
  if (accepted?.status === 'False' || accepted?.reason === 'Paused') {
    return { kind: 'refused', why: `${accepted.reason}: ${accepted.message}`, status }
  }
  // A pod that does not start is reported, because it may never become ready.
  const pending = status.pods.some(
    ({ state = 'Pending', error }) => state === 'Pending' && error === undefined,
  )
  if (programmed?.status === 'False' && programmed.reason === 'Rejected' && !pending) {
    return { kind: 'refused', why: `${programmed.reason}: ${programmed.message}`, status }
  }
  const isDone = programmed?.status === 'True' && available?.status === 'True'
  return isDone ? { kind: 'programmed', status } : undefined
}

function conditionOf({ conditions }: GatewayStatus, type: string, generation: number) {
  return conditions.find((one) => one.type === type && (one.observedGeneration ?? 0) >= generation)
}

function whyNotYet(status: GatewayStatus, generation: number): string {
  if ((status.observedGeneration ?? 0) < generation) {
    return 'the operator has not processed it; is the operator running?'
  }
  const lacking = ['WorkloadAvailable', 'Programmed'].map((type) =>
    conditionOf(status, type, generation),
  )
  const first = lacking.find((condition) => condition?.status !== 'True')
  return first === undefined ? 'it is not processed yet' : `${first.reason}: ${first.message}`
}

/** Prints a line when the state of a pod changes. */
function tellOfPods({ pods, programmedReplicas = 0 }: GatewayStatus, shown: Map<string, string>) {
  for (const { name, state = 'Pending', ready, error } of pods) {
    const readiness = ready ? 'ready' : 'not ready'
    const fault = error === undefined ? '' : `: ${error}`
    const count = `${programmedReplicas} of ${pods.length} programmed`
    tell(name, `pod ${name}: ${state}, ${readiness}${fault} (${count})`, shown)
  }
}

/** Returns only changed states. */
function tell(what: string, text: string, shown: Map<string, string>): void {
  if (shown.get(what) === text) return
  shown.set(what, text)
  printRemark(text)
}
