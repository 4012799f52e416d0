/** Makes the pushes to a pod: each document with its proof headers, which the pod requires. */

import type { Request, Transport } from '../kube/transport.ts'
import type { TraceContext } from '../tracing/tracer.ts'
import type { OutgoingConfiguration, OutgoingKeys } from './bundle.ts'
import type { LinkTimings } from './pod-lane.ts'

export type PushedPart = 'configuration' | 'keys'

export interface Wanted {
  readonly configuration: OutgoingConfiguration | undefined
  readonly keys: OutgoingKeys | undefined
  /** The reconcile that sends it. */
  readonly trace?: TraceContext | undefined
}

/** One push, and its result. */
export interface PodPush {
  readonly part: PushedPart
  readonly result: string
  readonly seconds: number
  /** The reconcile that caused it. */
  readonly trace: TraceContext | undefined
}

export interface PodLinkOptions {
  readonly transport: Pick<Transport, 'call'>
  readonly random: () => number
  readonly timings: LinkTimings
  /** Number of pods of this process. */
  readonly crowd: () => number
  /** Called when the state of this pod changes. */
  readonly onChange: () => void
  readonly onPush: (push: PodPush) => void
}

export type PodRequest = Pick<Request, 'method' | 'path' | 'headers' | 'body'>

const JSON_BODY = { 'content-type': 'application/json' }

/** The next one is sent if the previous one is answered by 409. `has` is the sequence of the pod's keys. */
export function pushesOf(
  part: PushedPart,
  { configuration, keys }: Wanted,
  has: number | undefined,
): readonly PodRequest[] {
  if (part === 'configuration') {
    if (configuration === undefined) return []
    const headers = { ...JSON_BODY, ...configuration.proof }
    return [{ method: 'PUT', path: '/config', headers, body: configuration.text }]
  }
  if (keys === undefined) return []
  const { changes, packed, proof } = keys
  const packedHeaders = { ...JSON_BODY, 'content-encoding': 'gzip', ...proof }
  const whole: PodRequest = { method: 'PUT', path: '/keys', headers: packedHeaders, body: packed }
  if (changes === undefined || changes.base !== has) return [whole]
  const headers = { ...JSON_BODY, ...changes.proof }
  return [{ method: 'PUT', path: '/keys', headers, body: changes.text }, whole]
}
