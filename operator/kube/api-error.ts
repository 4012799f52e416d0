/** The refusals of the API server, and their classes for writers. */
import { parseJson } from '../../dataplane/json/parse.ts'
import { isRecord, valueBelow } from '../../dataplane/json/values.ts'
import type { ApiResponse } from './transport.ts'

/** A watch that waits longer would keep edits and revocations from every gateway. */
const RETRY_AFTER_MS_MAX = 10_000

const ENDING = /unable to create new content in namespace \S+ because it is being terminated/

export class ApiError extends Error {
  readonly status: number
  /** CamelCase, as the server sends it: NotFound, Conflict, Expired ... */
  readonly reason: string
  readonly retryAfterMs: number | undefined

  constructor(message: string, facts: { status: number; reason: string; retryAfterMs?: number }) {
    super(message)
    this.name = 'ApiError'
    this.status = facts.status
    this.reason = facts.reason
    this.retryAfterMs = facts.retryAfterMs
  }
}

/** Thrown before anything is sent, if this process is not the leader. */
export class NotLeaderError extends Error {
  constructor() {
    super('this operator is not the leader; it does not write')
    this.name = 'NotLeaderError'
  }
}

/** A namespace that is being deleted takes no new objects; soon it deletes the owner of this one, too. */
export function isOfEndingNamespace(error: unknown): boolean {
  return error instanceof ApiError && error.status === 403 && ENDING.test(error.message)
}

export function errorOf(what: string, { status, headers, body }: ApiResponse): ApiError {
  const text = body.subarray(0, 65_536).toString()
  const parsed = parse(text)
  const message = valueBelow(parsed, 'message')
  const reason = valueBelow(parsed, 'reason')
  const says = typeof message === 'string' && message !== '' ? message : text.slice(0, 200)
  const retryAfterMs = retryAfterOf(headers['retry-after'])
  return new ApiError(`${what}: ${status} ${says.trim()}`.slice(0, 2000), {
    status,
    reason: typeof reason === 'string' && reason !== '' ? reason : `Status${status}`,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  })
}

/** An ERROR event of a watch carries the same object as a refusal. */
export function errorOfStatus(what: string, status: unknown): ApiError {
  const code = valueBelow(status, 'code')
  const body = Buffer.from(JSON.stringify(isRecord(status) ? status : {}))
  return errorOf(what, { status: typeof code === 'number' ? code : 500, headers: {}, body })
}

/** Whether a repeated call would get the same answer. */
export function isRefusal(error: unknown): boolean {
  return (
    error instanceof ApiError && error.status >= 400 && error.status < 500 && error.status !== 429
  )
}

export function isStatus(error: unknown, status: number): error is ApiError {
  return error instanceof ApiError && error.status === status
}

function retryAfterOf(header: string | undefined): number | undefined {
  if (header === undefined) return undefined
  const seconds = Number(header)
  return Number.isFinite(seconds) && seconds >= 0
    ? Math.min(seconds * 1000, RETRY_AFTER_MS_MAX)
    : undefined
}

function parse(text: string): unknown {
  try {
    return parseJson(text)
  } catch {
    return undefined
  }
}
