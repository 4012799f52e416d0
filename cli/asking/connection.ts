/** Asks the admin API of a gateway: a stand-alone one by its socket or URL, a pod through a tunnel. */
import { resolve } from 'node:path'
import { InvalidArgumentError, Option } from 'commander'
import type { AdminAnswer, Asking } from './admin-call.ts'

export type { AdminAnswer, Asking } from './admin-call.ts'

/** Address of a forwarded admin port of a pod; the tool tries it last. */
export const ADMIN_DEFAULT = 'http://127.0.0.1:9091'
const TIMEOUT_MS = 10_000
const LOOK_MS = 1000

/** The option of every command that asks a stand-alone gateway. */
export function adminOption(): Option {
  return new Option(
    '--admin <where>',
    'stand-alone gateway: the port clients call, the path of its admin socket, or a URL',
  )
    .env('GW_ADMIN')
    .argParser(adminPlace)
}

/** A URL, or `unix:` with a path. A port is resolved when it is asked, because sockets come and go. */
export function adminPlace(text: string): string {
  if (/^\d{1,5}$/.test(text) && Number(text) > 0 && Number(text) < 65_536) return text
  const path = /^unix:(?:\/\/(?=\/))?(.+)$/.exec(text)?.[1] ?? (isPath(text) ? text : undefined)
  if (path !== undefined) return `unix:${resolve(path)}`
  const url = URL.parse(text)
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return text
  throw new InvalidArgumentError(
    `Give a URL such as ${ADMIN_DEFAULT}, the path of an admin socket, or the port that clients call.`,
  )
}

function isPath(text: string): boolean {
  return /^\.{0,2}\//.test(text) || /^[^:]+\.sock$/.test(text)
}

/** Throws a sentence if no answer can be one of the admin API. */
export async function askAdmin(
  said: string,
  path: string,
  asking: Asking = {},
): Promise<AdminAnswer> {
  const { timeoutMs = TIMEOUT_MS } = asking
  const { ask } = await import('./admin-call.ts')
  const { socketOf, tokenFor } = await import('./local-gateways.ts')
  const admin = /^\d+$/.test(said) ? (socketOf(Number(said)) ?? `http://127.0.0.1:${said}`) : said
  const url = path === '/status' ? null : URL.parse(admin)
  let answer: AdminAnswer
  try {
    const token = url === null ? undefined : await tokenFor(url)
    answer = await ask(admin, path, { ...asking, timeoutMs, token })
  } catch (error) {
    throw new Error(`No gateway answers at ${admin} (${reasonOf(error, timeoutMs)}). ${ADVICE}`, {
      cause: error,
    })
  }
  const { body, status } = answer
  if (body === undefined) throw new Error(`The server at ${admin} is not a gateway. ${ADVICE}`)
  // Only answers to clients have a request id, so this is the client port of the same gateway.
  if ('request_id' in Object(Object(body).error)) {
    throw new Error(
      `${admin} is the address for clients; the admin API has another address. ${ADVICE}`,
    )
  }
  if (status === 401) throw new Error(`${admin} refuses: ${Object(Object(body).error).message}`)
  return answer
}

/** Other programs use the port, too, so the tool checks that the answer is a gateway's. */
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

/** fetch wraps the error with the actual reason. */
export function reasonOf(error: unknown, timeoutMs: number): string {
  if (!(error instanceof Error)) return String(error)
  const { cause, message, name } = error
  if (name === 'TimeoutError') return `nothing for ${timeoutMs / 1000} s`
  if (cause instanceof Error && 'code' in cause) return String(cause.code)
  return 'code' in error && typeof error.code === 'string' ? error.code : message
}
