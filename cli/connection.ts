/** Asks the admin API of a gateway: stand-alone by its URL, a pod by the end of a tunnel to it. */
import { InvalidArgumentError, Option } from 'commander'

export const ADMIN_DEFAULT = 'http://127.0.0.1:9091'
const TIMEOUT_MS = 10_000
const LOOK_MS = 1000
const ANSWER_BYTES_MAX = 33_554_432

export interface AdminAnswer {
  readonly status: number
  /** JSON of the admin API; what it says is checked by whoever reads it. */
  readonly body: unknown
}

export interface Asking {
  readonly method?: 'GET' | 'PUT' | 'POST'
  readonly body?: string
  readonly timeoutMs?: number
}

/** The option of every command that asks a stand-alone gateway. */
export function adminOption(): Option {
  return new Option('--admin <url>', `admin API of a stand-alone gateway (${ADMIN_DEFAULT})`)
    .env('GW_ADMIN')
    .argParser((text) => urlOption(text, ADMIN_DEFAULT))
}

/** Throws a sentence when there is no answer that could be one of the admin API. */
export async function askAdmin(
  admin: string,
  path: string,
  { method = 'GET', body: sent, timeoutMs = TIMEOUT_MS }: Asking = {},
): Promise<AdminAnswer> {
  const url = `${admin.replace(/\/+$/, '')}${path}`
  let status: number
  let text: string
  try {
    const signal = AbortSignal.timeout(timeoutMs)
    const answer = await fetch(url, {
      method,
      signal,
      ...(sent === undefined ? {} : { body: sent }),
    })
    status = answer.status
    text = await answer.text()
  } catch (error) {
    throw new Error(`No gateway answers at ${admin} (${reasonOf(error, timeoutMs)}). ${ADVICE}`)
  }
  const body = text.length > ANSWER_BYTES_MAX ? undefined : parsed(text)
  if (body === undefined) throw new Error(`What answers at ${admin} is no gateway. ${ADVICE}`)
  // Only answers to clients have an id: it is the other port of the same gateway.
  if ('request_id' in Object(Object(body).error)) {
    throw new Error(
      `${admin} is where clients call; its admin API has a port of its own. ${ADVICE}`,
    )
  }
  return { status, body }
}

/** Other programs use the port, too: only what looks like a gateway is one. */
export async function isGatewayAt(admin: string): Promise<boolean> {
  try {
    const { status, body } = await askAdmin(admin, '/status', { timeoutMs: LOOK_MS })
    return status === 200 && 'upstreams' in Object(body)
  } catch {
    return false
  }
}

const ADVICE =
  'Give its admin API with --admin URL or GW_ADMIN, or a cluster with -n and --gateway.'

export function urlOption(text: string, example: string): string {
  const url = URL.parse(text)
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return text
  throw new InvalidArgumentError(`Give a URL such as ${example}.`)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** fetch wraps the reason that says something. */
export function reasonOf(error: unknown, timeoutMs: number): string {
  if (!(error instanceof Error)) return String(error)
  const { cause, message, name } = error
  if (name === 'TimeoutError') return `nothing for ${timeoutMs / 1000} s`
  return cause instanceof Error && 'code' in cause ? String(cause.code) : message
}
