/** The logs of all pods of a gateway, through the API server; the permission is `pods/log`. */
import { setTimeout as delay } from 'node:timers/promises'
import { ApiError } from '../../operator/kube/api-error.ts'
import { type ClusterAccess, findGateway, podsOf } from '../asking/cluster-access.ts'
import { printRemark } from '../printing/output.ts'
import type { Entry } from './entry.ts'
import { entriesOf, inOrder, linesOf } from './lines.ts'

export interface LogRange {
  readonly tail: number | undefined
  readonly sinceSeconds: number | undefined
  /** The container before the running one. */
  readonly previous?: boolean
}

/** The operator's name for the container; sidecars have other names. */
const CONTAINER = 'gateway'
const LOOK_MS = 2000

/** The lines so far, by time. */
export async function* pastOf(access: ClusterAccess, reading: LogRange): AsyncGenerator<Entry> {
  const { namespace, pods } = await namesOf(access)
  const until = new AbortController().signal
  const read = reading.previous ? endedEntries : entries
  yield* inOrder(pods.map((pod) => read(access, { namespace, pod, until, ...reading })))
}

/** The API server answers 400 if no container of the pod has ended yet. */
async function* endedEntries(access: ClusterAccess, log: PodLog): AsyncGenerator<Entry> {
  try {
    yield* entries(access, log)
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 400) throw error
    printRemark(`pod ${log.pod}: its container has not been restarted`)
  }
}

/** Runs until the signal; later pods are read from their start. */
export async function followPods(
  access: ClusterAccess,
  { until, ...reading }: LogRange & { readonly until: AbortSignal },
  take: (entry: Entry) => void,
): Promise<void> {
  const followed: Followed = { last: new Map(), open: new Map(), faults: new Map(), take }
  // If the first request to the cluster fails, the command ends.
  let found = await namesOf(access)
  let isFirst = true
  while (!until.aborted) {
    const { namespace } = found
    for (const pod of found.pods.filter((name) => !followed.open.has(name))) {
      const seen = followed.last.get(pod)
      const log = { namespace, pod, until, follows: true, ...(isFirst ? reading : resumed(seen)) }
      followed.open.set(pod, follow(access, log, followed))
    }
    isFirst = false
    await delay(LOOK_MS, undefined, { signal: until }).catch(() => undefined)
    if (followed.forbidden !== undefined) throw followed.forbidden
    found = await namesOf(access).catch((error: Error) => {
      if (!until.aborted) printRemark(`the pods cannot be listed: ${error.message}`)
      return found
    })
  }
  await Promise.all(followed.open.values())
}

interface Followed {
  /** The time of the last line of each pod. */
  readonly last: Map<string, number>
  readonly open: Map<string, Promise<void>>
  readonly faults: Map<string, string>
  readonly take: (entry: Entry) => void
  forbidden?: Error
}

async function follow(access: ClusterAccess, log: PodLog, followed: Followed): Promise<void> {
  const { pod, until } = log
  const { last, open, faults, take } = followed
  const seen = last.get(pod) ?? -1
  try {
    for await (const entry of entries(access, log)) {
      if (entry.at <= seen) continue
      last.set(pod, entry.at)
      take(entry)
    }
  } catch (error) {
    if (until.aborted || !(error instanceof Error)) return
    if (error instanceof ApiError && error.status === 403) followed.forbidden = error
    // The next round tries it again.
    else if (faults.get(pod) !== error.message) printRemark(`pod ${pod}: ${error.message}`)
    faults.set(pod, error.message)
  } finally {
    open.delete(pod)
  }
}

/** The API server counts whole seconds; lines already seen are skipped by their time. */
function resumed(seen: number | undefined): LogRange {
  if (seen === undefined) return { tail: undefined, sinceSeconds: undefined }
  return { tail: undefined, sinceSeconds: Math.ceil((Date.now() - seen) / 1000) + 1 }
}

interface PodLog extends LogRange {
  readonly namespace: string
  readonly pod: string
  readonly until: AbortSignal
  readonly follows?: boolean
}

async function* entries({ api }: ClusterAccess, log: PodLog): AsyncGenerator<Entry> {
  const { namespace, pod, until, follows, tail, sinceSeconds, previous } = log
  const query = new URLSearchParams({
    container: CONTAINER,
    ...(follows && { follow: 'true' }),
    ...(previous && { previous: 'true' }),
    ...(tail !== undefined && { tailLines: String(tail) }),
    ...(sinceSeconds !== undefined && { sinceSeconds: String(sinceSeconds) }),
  })
  const path = `/api/v1/namespaces/${namespace}/pods/${pod}/log?${query}`
  const { chunks, close } = await api.follow(path, until)
  try {
    yield* entriesOf(linesOf(chunks), pod)
  } finally {
    close()
  }
}

async function namesOf(access: ClusterAccess) {
  const gateway = await findGateway(access)
  const { namespace = access.namespace } = gateway.metadata
  const pods = await podsOf(access, gateway)
  return { namespace, pods: pods.map(({ metadata }) => metadata.name) }
}
