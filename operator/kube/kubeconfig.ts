/** Reads kubeconfigs of certificates and tokens directly; the library takes seconds and 80 MiB for that. */

import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'
import { parse } from 'yaml'
import { isRecord, valueBelow } from '../../dataplane/json/values.ts'
import { messageOf } from '../log.ts'
import type { Cluster, ClusterOptions, Credentials } from './credentials.ts'

type Entry = Readonly<Record<string, unknown>>

/** These members are read here; any other member needs the library. */
const CLUSTER_MEMBERS = [
  'server',
  'certificate-authority',
  'certificate-authority-data',
  'insecure-skip-tls-verify',
  'tls-server-name',
  'extensions',
]
const USER_MEMBERS = [
  'client-certificate',
  'client-certificate-data',
  'client-key',
  'client-key-data',
  'token',
  'extensions',
]

/**
 * Undefined if the file is not one, or contains something that only the library supports: plugins, proxies, several
 * files.
 */
export function readPlainKubeconfig(options: ClusterOptions): Cluster | undefined {
  const { env, kubeconfig, context } = options
  const file = kubeconfig ?? env.KUBECONFIG ?? join(homedir(), '.kube', 'config')
  if (file.includes(':')) return undefined
  const read = () => readEntries(file, context)
  const entries = read()
  if (entries === undefined) return undefined
  const { server } = entries.cluster
  if (typeof server !== 'string' || !/^https?:\/\/./.test(server)) return undefined
  return {
    server: server.replace(/\/+$/, ''),
    namespace: entries.namespace,
    async credentials() {
      // Reads the file again, because a tool that renews certificates rewrites it.
      const fresh = read() ?? entries
      try {
        return credentialsOf(fresh.cluster, fresh.user, dirname(file))
      } catch (error) {
        throw new Error(`the kubeconfig ${file} cannot be used: ${messageOf(error)}`)
      }
    },
  }
}

function readEntries(file: string, context: string | undefined) {
  let config: unknown
  try {
    config = parse(readFileSync(file, 'utf8'))
  } catch {
    return undefined
  }
  const wanted = context ?? valueBelow(config, 'current-context')
  const found = named(config, 'contexts', 'context', wanted)
  const cluster = named(config, 'clusters', 'cluster', found?.cluster)
  const user = named(config, 'users', 'user', found?.user)
  if (cluster === undefined || user === undefined) return undefined
  const isPlain = hasOnly(cluster, CLUSTER_MEMBERS) && hasOnly(user, USER_MEMBERS)
  const namespace = typeof found?.namespace === 'string' ? found.namespace : 'default'
  return isPlain ? { cluster, user, namespace } : undefined
}

function named(config: unknown, list: string, member: string, name: unknown): Entry | undefined {
  const entries = valueBelow(config, list)
  if (!Array.isArray(entries) || typeof name !== 'string') return undefined
  const value = valueBelow(
    entries.find((entry) => valueBelow(entry, 'name') === name),
    member,
  )
  return isRecord(value) ? value : undefined
}

function hasOnly(entry: Entry, members: readonly string[]): boolean {
  return Object.keys(entry).every((member) => members.includes(member))
}

function credentialsOf(cluster: Entry, user: Entry, folder: string): Credentials {
  const content = (entry: Entry, member: string) => {
    const inline = entry[`${member}-data`]
    if (typeof inline === 'string') return Buffer.from(inline, 'base64')
    const path = entry[member]
    if (typeof path !== 'string') return undefined
    return readFileSync(isAbsolute(path) ? path : join(folder, path))
  }
  const servername = cluster['tls-server-name']
  return {
    ...(typeof user.token === 'string' ? { authorization: `Bearer ${user.token}` } : {}),
    tls: {
      ca: content(cluster, 'certificate-authority'),
      cert: content(user, 'client-certificate'),
      key: content(user, 'client-key'),
      ...(typeof servername === 'string' ? { servername } : {}),
      ...(cluster['insecure-skip-tls-verify'] === true ? { rejectUnauthorized: false } : {}),
    },
  }
}
