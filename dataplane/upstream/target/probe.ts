/** Health probes: GET the path, without a credential, and look for 200. */
import type { Dispatcher } from 'undici'
import type { UpstreamSettings } from '../../config/snapshot.ts'
import type { Way } from '../connection/client.ts'
import { failureOf } from '../connection/connection-failures.ts'
import { askStatus } from '../connection/status-question.ts'
import { probeMsOf } from './health.ts'

/** Whether a server answers there, and is well where that can be asked. Rejects where no connection can be made. */
export async function answersProbe(
  pool: Dispatcher,
  { healthPath, section }: UpstreamSettings,
): Promise<boolean> {
  const isWell = await probe(pool, healthPath ?? '/', probeMsOf(section))
  return isWell || healthPath === undefined
}

/** Tells beside the result whether no server listens there. */
export async function watchedProbe(
  way: Way,
  { healthPath = '/', section }: UpstreamSettings,
  tell: (isUnreached: boolean) => void,
): Promise<boolean> {
  try {
    const status = await askStatus(way, healthPath, probeMsOf(section))
    tell(false)
    return status === 200
  } catch (error) {
    tell(error instanceof Error && failureOf(error).isUnreached === true)
    throw error
  }
}

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
