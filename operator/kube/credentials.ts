/** An API server and the credentials for it, wherever they were read. */
import type { TlsSettings } from './transport.ts'

export interface Credentials {
  /** The whole header, with its scheme. */
  readonly authorization?: string
  readonly tls: TlsSettings
}

export interface Cluster {
  readonly server: string
  /** The namespace of the context or of the pod we run in. */
  readonly namespace: string
  /** Asked again when the old ones are refused, and every minute. */
  credentials(): Promise<Credentials>
}

export interface ClusterOptions {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly kubeconfig?: string | undefined
  readonly context?: string | undefined
}

export function isSameTls({ tls: one }: Credentials, { tls: other }: Credentials): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}
