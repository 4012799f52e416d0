/** Checks of what a gateway calls: upstreams and Redis by their addresses, and the clock by theirs. */
import { lookup } from 'node:dns/promises'
import { connect } from 'node:net'
import { type Check, found } from './check.ts'

const PATIENCE_MS = 3000
const SKEW_WARNING_MS = 5000

export interface Reached {
  readonly name: string
  readonly url: string
}

const USUAL_PORTS: Readonly<Record<string, number>> = {
  'https:': 443,
  'http:': 80,
  'redis:': 6379,
  'rediss:': 6379,
}

/** A connection is opened and closed; no request and no credential is sent. */
export async function reachCheck(kind: string, { name, url: text }: Reached): Promise<Check> {
  const url = URL.parse(text)
  const { ok, failed, warning } = found(kind, name)
  if (url === null || text.includes('${'))
    return warning(
      'its address is a reference that is not set here',
      'Set the variable, and check again.',
    )
  const { hostname, protocol } = url
  const host = hostname.replace(/^\[|\]$/g, '')
  const port = Number(url.port) || (USUAL_PORTS[protocol] ?? 443)
  const at = `${host}:${port}`
  try {
    await lookup(host)
  } catch (error) {
    return failed(
      `${host} has no address (${codeOf(error)})`,
      'Correct the host name, or check the DNS of this machine.',
    )
  }
  const fault = await connectFault(host, port)
  if (fault === undefined) return ok(`reachable at ${at}`)
  return failed(
    `not reachable at ${at} (${fault})`,
    'Start the server, correct the address, or open the way: firewall, proxy, VPN.',
  )
}

async function connectFault(host: string, port: number): Promise<string | undefined> {
  const socket = connect({ host, port })
  return await new Promise((resolve) => {
    const end = (fault: string | undefined) => {
      socket.destroy()
      resolve(fault)
    }
    socket.setTimeout(PATIENCE_MS, () => end(`nothing for ${PATIENCE_MS / 1000} s`))
    socket.once('connect', () => end(undefined))
    socket.once('error', (error) => end(codeOf(error)))
  })
}

/** Compares with the Date of an answer; keys and budgets end by the clock. */
export function clockCheck(date: string | undefined, from: string, now: number): Check {
  const { ok, warning } = found('clock', 'this machine')
  const theirs = Date.parse(date ?? '')
  if (Number.isNaN(theirs)) return ok('no server to compare with has answered')
  const skew = Math.abs(now - theirs)
  return skew <= SKEW_WARNING_MS
    ? ok(`agrees with ${from}`)
    : warning(
        `${Math.round(skew / 1000)} s from ${from}`,
        'Synchronise the clock: timedatectl set-ntp true',
      )
}

/** The Date header of any answer, also of a refusal. */
export async function dateAt(url: string): Promise<string | undefined> {
  try {
    const signal = AbortSignal.timeout(PATIENCE_MS)
    const answer = await fetch(new URL('/', url), { method: 'HEAD', redirect: 'manual', signal })
    return answer.headers.get('date') ?? undefined
  } catch {
    return undefined
  }
}

function codeOf(error: unknown): string {
  const { code, message } = Object(error)
  return String(code ?? message)
}
