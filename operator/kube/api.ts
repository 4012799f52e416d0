/** The verbs of the API server that the operator uses, with deadlines, retries and a fence for writers. */
import { setTimeout as delay } from 'node:timers/promises'
import { isRecord, valueBelow } from '../../dataplane/json/values.ts'
import { ApiError, errorOf, NotLeaderError } from './api-error.ts'
import { jsonOf, objectOf, withMetadata } from './api-objects.ts'
import { type Cluster, type Credentials, isSameTls } from './credentials.ts'
import {
  apiVersionOf,
  type KubeObject,
  type ObjectPlace,
  pathOf,
  type Resource,
} from './objects.ts'
import { type ApiResponse, type Request, readStart, type Stream, Transport } from './transport.ts'

export type Verb = 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'delete'

/** One permission that a call needs. */
export interface ApiRequest {
  readonly verb: Verb
  readonly group: string
  /** With its subresource, as RBAC writes it: `gatewayconfigs/status`. */
  readonly resource: string
  readonly namespace: string | undefined
}

export interface ApiOptions {
  readonly cluster: Cluster
  readonly random?: () => number
  /** False stops every write before it is sent. */
  readonly mayWrite?: () => boolean
  readonly onAsked?: (asked: ApiRequest) => void
  readonly onAnswer?: (status: number | 'error', verb: Verb) => void
  readonly deadlineMs?: number
  readonly attemptsMax?: number
}

export interface ListPage {
  readonly items: readonly KubeObject[]
  readonly resourceVersion: string
  readonly next: string | undefined
}

export interface Selection {
  readonly namespace?: string | undefined
  readonly labelSelector?: string | undefined
  readonly fieldSelector?: string | undefined
  /** Reads only metadata, to save memory and to avoid contents that the operator does not need. */
  readonly metadataOnly?: boolean | undefined
}

export interface ApplyOptions {
  readonly manager: string
  readonly subresource?: string
  /** False: fields that another manager has set differently are a conflict (409). */
  readonly force?: boolean
  /** True: the answer is the object that would be stored, and nothing is stored. */
  readonly dryRun?: boolean
  /** True: a merge patch instead, which replaces lists whole, including foreign entries. */
  readonly merges?: boolean
}

const CREDENTIALS_MS_MAX = 60_000
const JSON_TYPE = 'application/json'
const METADATA = 'as=PartialObjectMetadata;g=meta.k8s.io;v=v1'
const METADATA_LIST = 'as=PartialObjectMetadataList;g=meta.k8s.io;v=v1'

export class ApiClient {
  readonly #options: ApiOptions
  readonly #transport: Transport
  #credentials: Credentials | undefined
  #credentialsAt = 0

  constructor(options: ApiOptions) {
    this.#options = options
    this.#transport = new Transport({ proxy: options.cluster.proxy })
  }

  async get(resource: Resource, place: ObjectPlace): Promise<KubeObject | undefined> {
    this.#ask('get', resource, place)
    try {
      return objectOf(await this.#send('get', { method: 'GET', path: pathOf(resource, place) }))
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) return undefined
      throw error
    }
  }

  /** The public keys of the issuer of ServiceAccounts, which every ServiceAccount may read. */
  async issuerKeys(): Promise<unknown> {
    return await this.read('/openid/v1/jwks', 'application/jwk-set+json, application/json')
  }

  async list(
    resource: Resource,
    selection: Selection,
    page: { limit: number; next?: string | undefined },
  ): Promise<ListPage> {
    this.#ask('list', resource, selection)
    const query = queryOf(selection, { limit: String(page.limit), continue: page.next })
    const path = `${pathOf(resource, selection)}?${query}`
    const accept = selection.metadataOnly ? `${JSON_TYPE};${METADATA_LIST}` : JSON_TYPE
    const answer = await this.#send('list', { method: 'GET', path, headers: { accept } })
    const body = jsonOf(answer)
    const items = valueBelow(body, 'items')
    const resourceVersion = valueBelow(body, 'metadata', 'resourceVersion')
    if (typeof resourceVersion !== 'string') throw new Error(`the list of ${path} has no version`)
    const next = valueBelow(body, 'metadata', 'continue')
    return {
      items: Array.isArray(items) ? items.filter(isRecord).map(withMetadata) : [],
      resourceVersion,
      next: typeof next === 'string' && next !== '' ? next : undefined,
    }
  }

  /** The document at a path that does not belong to an object. */
  async read(path: string, accept = JSON_TYPE): Promise<unknown> {
    return jsonOf(await this.#send('get', { method: 'GET', path, headers: { accept } }))
  }

  /** The stream of changes after a version; the reader parses its lines. */
  async watch(
    resource: Resource,
    selection: Selection,
    options: { resourceVersion: string; seconds: number; signal: AbortSignal },
  ): Promise<Stream> {
    this.#ask('watch', resource, selection)
    const query = queryOf(selection, {
      watch: 'true',
      allowWatchBookmarks: 'true',
      resourceVersion: options.resourceVersion,
      timeoutSeconds: String(options.seconds),
    })
    const accept = selection.metadataOnly ? `${JSON_TYPE};${METADATA}` : JSON_TYPE
    return await this.follow(`${pathOf(resource, selection)}?${query}`, options.signal, accept)
  }

  async follow(path: string, signal: AbortSignal, accept = '*/*'): Promise<Stream> {
    const { authorization } = await this.#authenticate()
    const stream = await this.#transport.stream({
      origin: this.#options.cluster.server,
      method: 'GET',
      path,
      headers: { accept, ...(authorization === undefined ? {} : { authorization }) },
      deadlineMs: this.#options.deadlineMs ?? 30_000,
      signal,
    })
    this.#options.onAnswer?.(stream.status, 'watch')
    if (stream.status === 200) return stream
    if (stream.status === 401) this.#credentials = undefined
    throw errorOf(`follow ${path.split('?')[0]}`, { ...stream, body: await readStart(stream) })
  }

  async create(resource: Resource, object: KubeObject, manager: string): Promise<KubeObject> {
    const { namespace } = object.metadata
    this.#askToWrite('create', resource, { namespace })
    const path = `${pathOf(resource, { namespace })}?fieldManager=${manager}&fieldValidation=Strict`
    const body = JSON.stringify(object)
    return objectOf(await this.#send('create', { method: 'POST', path, body }))
  }

  /** Fails with 409 where the stored object is not of the `resourceVersion` that is sent. */
  async update(
    resource: Resource,
    object: KubeObject,
    manager: string,
    subresource?: string,
  ): Promise<KubeObject> {
    const { namespace, name } = object.metadata
    this.#askToWrite('update', resource, { namespace, subresource })
    const place = pathOf(resource, { namespace, name, subresource })
    const path = `${place}?fieldManager=${manager}&fieldValidation=Strict`
    const body = JSON.stringify(object)
    return objectOf(await this.#send('update', { method: 'PUT', path, body }))
  }

  /** Server-side apply of exactly these fields; the operator's other fields are removed. */
  async apply(
    resource: Resource,
    object: KubeObject,
    { manager, subresource, force = true, dryRun = false, merges = false }: ApplyOptions,
  ): Promise<KubeObject> {
    const { namespace, name, uid } = object.metadata
    const where = { namespace, subresource }
    this.#askToWrite('patch', resource, where)
    // An apply that creates the object needs that permission; one with a uid creates none.
    if (subresource === undefined && !uid) this.#ask('create', resource, where)
    const forced = merges ? '' : `&force=${force}`
    const query = `fieldManager=${manager}${forced}&fieldValidation=Strict${dryRun ? '&dryRun=All' : ''}`
    const path = `${pathOf(resource, { name, ...where })}?${query}`
    const body = JSON.stringify({
      apiVersion: apiVersionOf(resource),
      kind: resource.kind,
      ...object,
    })
    const type = merges ? 'application/merge-patch+json' : 'application/apply-patch+yaml'
    const headers = { 'content-type': type }
    return objectOf(await this.#send('patch', { method: 'PATCH', path, headers, body }))
  }

  /** Deletes only this object, not a successor with its name. */
  async delete(resource: Resource, { metadata }: KubeObject): Promise<void> {
    const { namespace, name, uid } = metadata
    this.#askToWrite('delete', resource, { namespace })
    const path = pathOf(resource, { namespace, name })
    const body = JSON.stringify({ preconditions: { uid }, propagationPolicy: 'Background' })
    try {
      await this.#send('delete', { method: 'DELETE', path, body })
    } catch (error) {
      const isDone = error instanceof ApiError && (error.status === 404 || error.status === 409)
      if (!isDone) throw error
    }
  }

  async close(): Promise<void> {
    await this.#transport.close()
  }

  #askToWrite(verb: Verb, resource: Resource, place: Omit<ObjectPlace, 'name'>): void {
    if (this.#options.mayWrite?.() === false) throw new NotLeaderError()
    this.#ask(verb, resource, place)
  }

  #ask(verb: Verb, { group, plural }: Resource, place: Omit<ObjectPlace, 'name'>): void {
    const resource = place.subresource === undefined ? plural : `${plural}/${place.subresource}`
    this.#options.onAsked?.({ verb, group, resource, namespace: place.namespace })
  }

  /** Repeats calls for which the server was too busy; the caller must repeat all others. */
  async #send(
    verb: Verb,
    call: Pick<Request, 'method' | 'path' | 'headers' | 'body'>,
  ): Promise<ApiResponse> {
    const attemptsMax = this.#options.attemptsMax ?? 3
    for (let attempt = 1; ; attempt++) {
      const answer = await this.#sendOnce(verb, call)
      if (answer.status < 300) return answer
      if (answer.status === 401 && attempt < attemptsMax) {
        this.#credentials = undefined
        continue
      }
      const error = errorOf(`${verb} ${call.path.replace(/\?.*/, '')}`, answer)
      const isBusy = answer.status === 429 && verb !== 'list'
      if (!isBusy || attempt >= attemptsMax) throw error
      const waitMs = error.retryAfterMs ?? 1000
      await delay(waitMs * (1 + (this.#options.random ?? Math.random)() / 4))
    }
  }

  async #sendOnce(
    verb: Verb,
    call: Pick<Request, 'method' | 'path' | 'headers' | 'body'>,
  ): Promise<ApiResponse> {
    const { authorization } = await this.#authenticate()
    // Another operator may have become the leader during the wait.
    if (call.method !== 'GET' && this.#options.mayWrite?.() === false) throw new NotLeaderError()
    const headers = {
      accept: JSON_TYPE,
      'content-type': JSON_TYPE,
      ...(authorization === undefined ? {} : { authorization }),
      ...call.headers,
    }
    try {
      const answer = await this.#transport.call({
        ...call,
        origin: this.#options.cluster.server,
        headers,
        deadlineMs: this.#options.deadlineMs ?? 30_000,
      })
      this.#options.onAnswer?.(answer.status, verb)
      return answer
    } catch (error) {
      this.#options.onAnswer?.('error', verb)
      throw error
    }
  }

  async #authenticate(): Promise<Credentials> {
    const now = performance.now()
    if (this.#credentials !== undefined && now - this.#credentialsAt < CREDENTIALS_MS_MAX) {
      return this.#credentials
    }
    const before = this.#credentials
    const fresh = await this.#options.cluster.credentials()
    this.#credentialsAt = now
    this.#credentials = fresh
    if (before === undefined || !isSameTls(before, fresh)) this.#transport.secureWith(fresh.tls)
    return fresh
  }
}

function queryOf(selection: Selection, more: Readonly<Record<string, string | undefined>>): string {
  const { labelSelector, fieldSelector } = selection
  const fields = Object.entries({ labelSelector, fieldSelector, ...more })
  const query = new URLSearchParams()
  for (const [name, value] of fields) if (value !== undefined) query.set(name, value)
  return query.toString()
}
