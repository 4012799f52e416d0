/** One request to an admin API, by URL or over a Unix socket (`unix:PATH`). */
import { request } from 'node:http'
import { parseJson } from '../../dataplane/json/parse.ts'

export interface AdminAnswer {
  readonly status: number
  /** JSON of the admin API; each caller checks its shape. */
  readonly body: unknown
}

export interface Asking {
  readonly method?: 'GET' | 'PUT' | 'POST'
  readonly body?: string
  readonly timeoutMs?: number
  readonly token?: string | undefined
}

const TIMEOUT_MS = 10_000
const ANSWER_BYTES_MAX = 33_554_432

/** Throws the error of the network; `body` is undefined if the answer is not JSON. */
export async function ask(
  admin: string,
  path: string,
  { method = 'GET', body, timeoutMs = TIMEOUT_MS, token }: Asking = {},
): Promise<AdminAnswer> {
  const signal = AbortSignal.timeout(timeoutMs)
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
  if (admin.startsWith('unix:')) {
    const socketPath = admin.slice('unix:'.length)
    return await overSocket({ socketPath, path, method, headers, signal }, body)
  }
  const answer = await fetch(`${admin.replace(/\/+$/, '')}${path}`, {
    method,
    signal,
    headers,
    ...(body === undefined ? {} : { body }),
  })
  return { status: answer.status, body: parsed(await answer.text()) }
}

interface SocketRequest {
  readonly socketPath: string
  readonly path: string
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly signal: AbortSignal
}

async function overSocket(options: SocketRequest, body: string | undefined): Promise<AdminAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<AdminAnswer>()
  const type = body === undefined ? {} : { 'content-type': 'text/plain' }
  const outgoing = request(
    { ...options, agent: false, headers: { host: 'localhost', ...type, ...options.headers } },
    (incoming) => {
      let text = ''
      incoming.setEncoding('utf8').on('data', (piece: string) => {
        text += piece
        if (text.length > ANSWER_BYTES_MAX) incoming.destroy()
      })
      incoming.on('error', reject)
      incoming.on('close', () => resolve({ status: incoming.statusCode ?? 0, body: parsed(text) }))
    },
  )
  outgoing.on('error', (error) => reject(options.signal.aborted ? options.signal.reason : error))
  outgoing.end(body)
  return await promise
}

function parsed(text: string): unknown {
  if (text.length > ANSWER_BYTES_MAX) return undefined
  try {
    return parseJson(text)
  } catch {
    return undefined
  }
}
