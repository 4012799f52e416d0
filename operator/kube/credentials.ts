/** An API server and its credentials, from any source, and error texts for missing ones. */
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
  /** URL of the proxy to the server. */
  readonly proxy?: string | undefined
  /** Called again when the old ones are refused, and every minute. */
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

interface Named {
  readonly name: string
}

/** A kubeconfig as the library reads it. */
interface ReadConfig<C> {
  getContexts(): readonly Named[]
  getCurrentContext(): string
  getContextObject(name: string): { readonly cluster: string; readonly user: string } | null
  getCluster(name: string): C | null
  getUser(name: string): object | null
}

/** The cluster of the chosen context. The library skips missing parts, and would send requests without credentials. */
export function namedCluster<C extends { readonly server: unknown }>(
  config: ReadConfig<C>,
  place: string,
): C {
  const fault = (what: string) => new Error(`the kubeconfig${place} cannot be used: ${what}`)
  const contexts = config.getContexts().map(({ name }) => name)
  const current = config.getCurrentContext()
  const context = config.getContextObject(current)
  const known = `choose one with --context: ${contexts.join(', ')}`
  if (contexts.length === 0) throw fault('it has no contexts; is it a kubeconfig?')
  if (!current) throw fault(`it has no current-context; ${known}`)
  if (context === null) throw fault(`it has no context "${current}", its current-context; ${known}`)
  const cluster = config.getCluster(context.cluster)
  const lacks = (what: string) =>
    fault(`its context "${current}" names the ${what}, which it lacks`)
  if (cluster === null) throw lacks(`cluster "${context.cluster}"`)
  if (config.getUser(context.user) === null) throw lacks(`user "${context.user}"`)
  const { server } = cluster
  if (typeof server === 'string' && /^https?:$/.test(URL.parse(server)?.protocol ?? ''))
    return cluster
  const example = 'write a URL such as https://10.0.0.1:6443'
  throw fault(
    `the server of its cluster "${context.cluster}" is ${JSON.stringify(server)}; ${example}`,
  )
}

/** Plugins have their own error texts, or none. */
export function credentialsFault(
  user: { readonly name: string; readonly exec?: { readonly command?: string } } | null,
  error: unknown,
): string {
  const message = error instanceof Error ? error.message.trim() : String(error)
  const plugin = user?.exec?.command
  const from = plugin === undefined ? '' : ` from ${plugin}`
  const isUseful =
    message !== '' && !(error instanceof TypeError) && !(error instanceof SyntaxError)
  const why = isUseful ? message.slice(0, 2000) : 'it fails, or its answer has none'
  const fix = plugin === undefined ? 'Log in again.' : 'Run it by hand to see why, or log in again.'
  return `no credentials${from} for user "${user?.name}" of the kubeconfig: ${why.replace(/\.$/, '')}. ${fix}`
}
