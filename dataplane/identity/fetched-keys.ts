/** Reads a key set like requests to upstreams: with their proxy, trusted authorities and denied addresses. */

import { readBounded } from '../connection/bounded-body.ts'
import { openPool } from '../connection/client.ts'
import type { Section } from '../schema/index.ts'
import { FETCH_MS_MAX } from './key-set.ts'

const CONNECT_TIMEOUT_SECONDS = 3
const BYTES_MAX = 1_048_576

export async function fetchKeys(
  url: string,
  section: Section,
  signal: AbortSignal,
): Promise<string> {
  const { origin, pathname, search } = new URL(url)
  const destination = {
    origin,
    timeoutMs: FETCH_MS_MAX,
    section: { connect_timeout_seconds: CONNECT_TIMEOUT_SECONDS },
  }
  // Sets are fetched every few minutes: a kept connection would be stale.
  const pool = openPool(destination, section, 1)
  try {
    const path = pathname + search
    const headers = { accept: 'application/jwk-set+json, application/json' }
    const answer = await pool.request({ origin, path, method: 'GET', headers, signal })
    const bytes = await readBounded(answer.body, BYTES_MAX, 'It is longer than 1 MiB.')
    if (answer.statusCode !== 200) throw new Error(`It was answered with ${answer.statusCode}.`)
    return bytes.toString()
  } finally {
    await pool.destroy()
  }
}
