/** Posts alerts to webhooks, with the same proxy, trusted authorities and denied addresses as requests to upstreams. */
import type { Section } from '../schema/index.ts'
import { openPool } from './client.ts'

/** Resolves with the receiver's status if it did not accept the alert. */
export type Post = (
  url: string,
  body: string,
  headers: Readonly<Record<string, string>>,
) => Promise<number | undefined>

const POST_TIMEOUT_MS = 5000
const CONNECT_TIMEOUT_SECONDS = 2

/** `section` is called for each post, because the settings may have changed. */
export function postThrough(section: () => Section): Post {
  return async (url, body, headers) => {
    const { origin, pathname, search } = new URL(url)
    const destination = {
      origin,
      timeoutMs: POST_TIMEOUT_MS,
      section: { connect_timeout_seconds: CONNECT_TIMEOUT_SECONDS },
    }
    // Alerts are rare, so a kept connection would be stale at the next one.
    const pool = openPool(destination, section(), 1)
    try {
      const signal = AbortSignal.timeout(POST_TIMEOUT_MS)
      const path = pathname + search
      const answer = await pool.request({ origin, path, method: 'POST', body, headers, signal })
      await answer.body.dump()
      const { statusCode } = answer
      return statusCode >= 200 && statusCode < 300 ? undefined : statusCode
    } finally {
      await pool.destroy()
    }
  }
}
