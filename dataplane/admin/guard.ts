/** Which callers of the admin API may make which requests. */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { AdminAccess } from './routes.ts'

export interface AdminCaller {
  readonly method: string
  /** Whether the path is public: /status, or a file of the console. */
  readonly isOpen: boolean
  readonly host?: string | undefined
  readonly origin?: string | undefined
  /** Set by browsers: the site of the page that sends the request. */
  readonly 'sec-fetch-site'?: string | undefined
  readonly authorization?: string | undefined
}

export interface AdminRefusal {
  readonly status: 401 | 403
  readonly message: string
}

const LOOPBACK_NAMES = ['127.0.0.1', 'localhost', '[::1]']

/** Why the caller is refused, or undefined. */
export function adminRefusal(caller: AdminCaller, door: AdminAccess): AdminRefusal | undefined {
  const { method, isOpen, host = '', origin, authorization } = caller
  const isReading = method === 'GET' || method === 'HEAD'
  // A page in a browser may resolve its own name to loopback, but cannot open a socket.
  if (!door.isSocket && !LOOPBACK_NAMES.includes(host.replace(/:\d+$/, ''))) {
    return { status: 403, message: 'The admin API answers only on loopback names.' }
  }
  // A page may send a POST anywhere, but cannot remove its own origin.
  if (!isReading && origin !== undefined) {
    return { status: 403, message: 'The admin API refuses changes from pages in a browser.' }
  }
  // A browser adds it itself. `none`: a person typed the address; a page from another port of loopback has another
  // site.
  if (!['same-origin', 'none'].includes(caller['sec-fetch-site'] ?? 'none')) {
    return { status: 403, message: 'The admin API refuses requests from pages of another origin.' }
  }
  if (door.token === undefined || (isOpen && isReading)) return undefined
  if (isSame(/^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1] ?? '', door.token))
    return undefined
  const file = door.tokenFile?.()
  const where = file === undefined ? 'of the gateway' : `in ${file}`
  return {
    status: 401,
    message: `This needs the bearer token ${where}; \`gw\` reads it when it runs as the same user.`,
  }
}

/** Compares in constant time. */
function isSame(given: string, token: string): boolean {
  return timingSafeEqual(digestOf(given), digestOf(token))
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
