/** Where the tool asks a running gateway: its admin API. */
import { InvalidArgumentError, Option } from 'commander'

const ADMIN_DEFAULT = 'http://127.0.0.1:9091'
const TIMEOUT_MS = 10_000
const ANSWER_BYTES_MAX = 33_554_432

export interface AdminAnswer {
  readonly status: number
  /** JSON of the admin API; what it says is checked by whoever reads it. */
  readonly body: unknown
}

/** The option of every command that asks a gateway. */
export function adminOption(): Option {
  return new Option('--admin <url>', 'admin API of the gateway')
    .env('GW_ADMIN')
    .default(ADMIN_DEFAULT)
    .argParser(adminUrl)
}

/** Throws a sentence when there is no answer that could be one of the admin API. */
export async function askAdmin(admin: string, path: string): Promise<AdminAnswer> {
  const url = `${admin.replace(/\/+$/, '')}${path}`
  let status: number
  let text: string
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) })
    status = answer.status
    text = await answer.text()
  } catch (error) {
    throw new Error(`No gateway answers at ${admin} (${reasonOf(error)}). ${ADVICE}`)
  }
  const body = text.length > ANSWER_BYTES_MAX ? undefined : parsed(text)
  if (body === undefined) throw new Error(`What answers at ${admin} is no gateway. ${ADVICE}`)
  return { status, body }
}

const ADVICE = 'Give its admin API with --admin URL or GW_ADMIN.'

function adminUrl(text: string): string {
  const url = URL.parse(text)
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return text
  throw new InvalidArgumentError(`Give a URL such as ${ADMIN_DEFAULT}.`)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** fetch wraps the reason that says something. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { cause, message, name } = error
  if (name === 'TimeoutError') return `nothing for ${TIMEOUT_MS / 1000} s`
  return cause instanceof Error && 'code' in cause ? String(cause.code) : message
}
