/** One health probe: GET the path, without a credential, and look for 200. */
import type { Dispatcher } from 'undici'

export async function probe(pool: Dispatcher, path: string, timeoutMs: number): Promise<boolean> {
  const { statusCode, body } = await pool.request({
    path,
    method: 'GET',
    headers: { accept: '*/*', 'user-agent': 'gw-probe' },
    signal: AbortSignal.timeout(timeoutMs),
  })
  // The answer is over with its status; its body is only read so that the connection can be used again.
  await body.dump({ limit: 65_536 })
  return statusCode === 200
}
