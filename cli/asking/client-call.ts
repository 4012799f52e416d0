/** One request in the form of a client. */
import { parseJson } from '../../dataplane/json/parse.ts'
import { listBelow, recordOf } from '../../dataplane/json/values.ts'
import { reasonOf } from './connection.ts'

export interface Called {
  readonly status: number
  readonly headers: Headers
  /** `error.code` of a refusal. */
  readonly code: string | undefined
  readonly message: string | undefined
  readonly ms: number
}

export interface Calling {
  readonly url: string
  readonly key: string | undefined
  readonly timeoutMs?: number
}

const TIMEOUT_MS = 130_000
const MAX_TOKENS = 16

/** A chat completion of a few tokens on a route. */
export async function chat(route: string, calling: Calling): Promise<Called> {
  const messages = [{ role: 'user', content: 'ping' }]
  const body = JSON.stringify({ model: route, messages, max_tokens: MAX_TOKENS })
  const type = { 'content-type': 'application/json' }
  return await call('/v1/chat/completions', { method: 'POST', body, headers: type }, calling)
}

/** Names of the routes that a key may use, as the gateway lists them. */
export async function listModels(calling: Calling): Promise<Called & { readonly ids: string[] }> {
  let text = ''
  const called = await call('/v1/models', {}, calling, (answer) => {
    text = answer
  })
  return { ...called, ids: called.status === 200 ? idsIn(text) : [] }
}

async function call(
  path: string,
  init: RequestInit,
  { url, key, timeoutMs = TIMEOUT_MS }: Calling,
  read: (text: string) => void = () => {},
): Promise<Called> {
  const headers = new Headers(init.headers)
  if (key !== undefined) headers.set('authorization', `Bearer ${key}`)
  const startedAt = performance.now()
  try {
    const signal = AbortSignal.timeout(timeoutMs)
    const answer = await fetch(`${url.replace(/\/+$/, '')}${path}`, { ...init, headers, signal })
    const text = await answer.text()
    read(text)
    const error = answer.ok ? undefined : errorIn(text)
    const ms = Math.round(performance.now() - startedAt)
    return { status: answer.status, headers: answer.headers, ms, ...(error ?? NO_ERROR) }
  } catch (error) {
    throw new Error(`No server answers at ${url} (${reasonOf(error, timeoutMs)}). Check --url.`, {
      cause: error,
    })
  }
}

const NO_ERROR = { code: undefined, message: undefined }

function errorIn(text: string) {
  try {
    const { code, message } = recordOf(recordOf(parseJson(text)).error)
    return { code: String(code ?? ''), message: String(message ?? '') }
  } catch {
    return undefined
  }
}

function idsIn(text: string): string[] {
  try {
    return listBelow(parseJson(text), 'data').map((entry) => String(recordOf(entry).id))
  } catch {
    return []
  }
}
