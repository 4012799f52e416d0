/** Health probes: GET the path, without a credential, and look for 200. */
import type { UpstreamSettings } from '../../config/snapshot.ts'
import type { Transport } from '../../connection/client.ts'
import { failureOf } from '../../connection/connection-failures.ts'
import { askStatus } from '../../connection/status-question.ts'
import { probeMsOf } from './health.ts'

/** Whether a server answers, and is healthy if it has a health path. Rejects if no connection can be made. */
export async function answersProbe(
  transport: Transport,
  { healthPath, section }: UpstreamSettings,
): Promise<boolean> {
  const status = await askStatus(transport, healthPath ?? '/', probeMsOf(section))
  return status === 200 || healthPath === undefined
}

/** Also reports whether no server listens. */
export async function watchedProbe(
  transport: Transport,
  { healthPath = '/', section }: UpstreamSettings,
  tell: (isUnreached: boolean) => void,
): Promise<boolean> {
  try {
    const status = await askStatus(transport, healthPath, probeMsOf(section))
    tell(false)
    return status === 200
  } catch (error) {
    tell(error instanceof Error && failureOf(error).isUnreached === true)
    throw error
  }
}
