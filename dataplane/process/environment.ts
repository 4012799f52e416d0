/** Environment variables of the process, checked before anything starts. */

import { logFormatFault } from '../telemetry/lines/log-format.ts'
import type { Environment } from '../wire/credential-source.ts'

const NUMBERS: Readonly<Record<string, number>> = {
  GW_ADMIN_PORT: 65_535,
  GW_DRAIN_TIMEOUT_SECONDS: 86_400,
  GW_DRAIN_DELAY_SECONDS: 86_400,
  GW_CONNECTION_AGE_SECONDS: 86_400,
  GW_LISTEN_PORT: 65_535,
  GW_METRICS_PORT: 65_535,
  GW_PUSH_PORT: 65_535,
}

/** An unreadable number must not become a drain without time or port 0. */
export function environmentFault(env: Environment): string | undefined {
  for (const [name, most] of Object.entries(NUMBERS)) {
    const text = env[name]
    // A template writes an empty variable for an unset one.
    if (text === undefined || text === '') continue
    const value = Number(text)
    if (text.trim() !== '' && Number.isInteger(value) && value >= 0 && value <= most) continue
    return `${name} is "${text}"; it must be a whole number from 0 to ${most}`
  }
  return logFormatFault(env.GW_LOG_FORMAT)
}
