/** Which callers of the admin API may do what. */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { AdminAccess } from './routes.ts'

export interface AdminCaller {
  readonly method: string
  readonly isStatus: boolean
  readonly host?: string | undefined
  readonly origin?: string | undefined
  readonly authorization?: string | undefined
}

export interface AdminRefusal {
  readonly status: 401 | 403
  readonly message: string
}

const LOOPBACK_NAMES = ['127.0.0.1', 'localhost', '[::1]']

/** Why the caller is refused, or undefined. */
export function adminRefusal(caller: AdminCaller, door: AdminAccess): AdminRefusal | undefined {
  const { method, isStatus, host = '', origin, authorization } = caller
  const isReading = method === 'GET' || method === 'HEAD'
  // A browser page may resolve its own name to loopback; it reaches no socket.
  if (!door.isSocket && !LOOPBACK_NAMES.includes(host.replace(/:\d+$/, ''))) {
    return { status: 403, message: 'The admin API answers on loopback names only.' }
  }
  // A page may send a POST anywhere; what it cannot do is leave its own origin out.
  if (!isReading && origin !== undefined) {
    return { status: 403, message: 'The admin API takes nothing from pages in a browser.' }
  }
  if (door.token === undefined || (isStatus && isReading)) return undefined
  if (isSame(/^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1] ?? '', door.token))
    return undefined
  const file = door.tokenFile?.()
  const where = file === undefined ? 'of the gateway' : `in ${file}`
  return {
    status: 401,
    message: `This needs the bearer token ${where}; \`gw\` reads it when it runs as the same user.`,
  }
}

/** In a time that says nothing of where they differ. */
function isSame(given: string, token: string): boolean {
  return timingSafeEqual(digestOf(given), digestOf(token))
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
