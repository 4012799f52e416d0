/** Asks a runtime for a fact about itself, with the credential of its upstream. */
import type { Dispatcher } from 'undici'
import type { UpstreamSettings } from '../../config/snapshot.ts'
import { readBounded } from '../../connection/bounded-body.ts'

const READ_TIMEOUT_MS = 5_000
const ANSWER_BYTES_MAX = 1_048_576
/** The end of a base URL of OpenAI's wire. */
const VERSION = /\/v\d+[a-z0-9]*$/

export interface RuntimeQuestion {
  readonly method: 'GET' | 'POST'
  readonly path: string
  /** Path below the base URL, without or with its API version. */
  readonly isNative: boolean
  readonly body?: string | undefined
}

/** The text of a 200 answer; undefined for other statuses. */
export async function askRuntime(
  pool: Dispatcher,
  { method, path, isNative, body: sent }: RuntimeQuestion,
  { basePath, credential, headers }: UpstreamSettings,
): Promise<string | undefined> {
  const { statusCode, body } = await pool.request({
    path: (isNative ? basePath.replace(VERSION, '') : basePath) + path,
    method,
    headers: {
      ...(credential === '' ? {} : { authorization: `Bearer ${credential}` }),
      ...(sent !== undefined && { 'content-type': 'application/json' }),
      ...headers,
      'accept-encoding': 'identity',
    },
    ...(sent !== undefined && { body: sent }),
    signal: AbortSignal.timeout(READ_TIMEOUT_MS),
  })
  const answer = await readBounded(
    body,
    ANSWER_BYTES_MAX,
    'its answer about its model is too large',
  )
  return statusCode === 200 ? answer.toString() : undefined
}
