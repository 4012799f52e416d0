/** The facts of a span of time, of all pods, in which the causes are found. Times are milliseconds since the epoch. */

export interface IncidentFacts {
  readonly since: number
  readonly until: number
  readonly asked: AskedAbout
  /** Requests by minute. */
  readonly flows: readonly Flow[]
  /** The events of the log and the cluster, oldest first. */
  readonly events: readonly FactEvent[]
  /** Requests that the gateways still remember, failed and slow ones the longest. */
  readonly requests: readonly FactRequest[]
  readonly upstreams: readonly UpstreamState[]
  readonly stores: readonly StoreState[]
  /** Names that clients may send, besides routes, and the routes that they lead to. */
  readonly aliases: Readonly<Record<string, string>>
  /** How far the clock of each pod is ahead. */
  readonly clocks: readonly { readonly pod: string; readonly aheadMs: number }[]
  /** The conditions of the GatewayConfig; empty outside a cluster. */
  readonly conditions: readonly FactCondition[]
  /** Sources that did not answer. */
  readonly missing: readonly string[]
}

export interface AskedAbout {
  readonly route?: string | undefined
  readonly tenant?: string | undefined
  /** One request; the gateways must still remember it. */
  readonly request?: string | undefined
}

export interface Flow {
  readonly by: 'route' | 'tenant' | 'upstream'
  readonly name: string
  readonly minutes: readonly Minute[]
}

export interface Minute {
  readonly at: number
  readonly requests: number
  /** Failed ones by fault. */
  readonly client: number
  readonly limit: number
  readonly upstream: number
  readonly gateway: number
}

/** Failed requests are the fault of the upstreams or the gateway, of a limit, or of the client. */
export type FaultKind = 'outage' | 'limit' | 'client'

export interface FactEvent {
  readonly at: number
  /** As in the log: breaker, health, config_reload, key, store, ...; `cluster` for Kubernetes. */
  readonly event: string
  readonly message: string
  readonly fields: Readonly<Record<string, string | number | boolean>>
  readonly pod?: string | undefined
}

export interface FactRequest {
  readonly at: number
  readonly id: string
  readonly pod?: string | undefined
  readonly tenant?: string | undefined
  readonly key?: string | undefined
  readonly model?: string | undefined
  readonly route: string
  readonly status: number
  readonly code?: string | undefined
  readonly message?: string | undefined
  readonly attempts: readonly FactAttempt[]
}

export interface FactAttempt {
  readonly upstream: string
  readonly endpoint?: string | undefined
  /** `ok`, or the class of the failure. */
  readonly outcome: string
  readonly status?: number | undefined
  readonly reason?: string | undefined
  /** Since the arrival of the request. */
  readonly startedMs: number
  readonly endedMs: number
}

export interface UpstreamState {
  readonly name: string
  readonly pod: string
  readonly eligible: boolean
  readonly why?: string | undefined
}

export interface StoreState {
  readonly pod: string
  readonly backend: string
  readonly state?: string | undefined
  readonly reason?: string | undefined
}

export interface FactCondition {
  readonly type: string
  readonly status: string
  readonly reason: string
  readonly message: string
  readonly since: number
}

/** A cause, as a clause of a sentence. */
export interface Cause {
  /** Its name for programs: `credential`, `quota`, `budget`, ... */
  readonly kind: string
  /** When it began; undefined if nothing tells. */
  readonly since: number | undefined
  readonly text: string
  /** 3: failed requests tell it themselves; 2: a state that would cause them; 1: a change shortly before. */
  readonly weight: 1 | 2 | 3
}

export type CauseRule = (facts: IncidentFacts, symptom: Symptom | undefined) => readonly Cause[]

/** Failed requests of one kind, from their beginning. */
export interface Symptom {
  readonly fault: FaultKind
  readonly route: string
  readonly tenant: string | undefined
  /** 0: no gateway remembers the requests, only the history counts them. */
  readonly status: number
  readonly code: string
  /** The failed part of the requests since it began. */
  readonly share: number
  readonly since: number
  /** The last failure. */
  readonly until: number
  readonly requests: readonly FactRequest[]
}
