/** A line for each save of the configuration: taken, or refused and why. */
import { parseJson } from '../../dataplane/json/parse.ts'
import { isRecord } from '../../dataplane/json/values.ts'

/** undefined if the line of the gateway's log is about something else. */
export function saveLine(logged: string): string | undefined {
  if (!logged.includes('"config_reload"')) return undefined
  const entry = parsed(logged)
  if (!isRecord(entry) || entry.event !== 'config_reload') return undefined
  const time = String(entry.time ?? '').slice(11, 19)
  if (entry.result === 'success') return `${time} saved: the change is in force`
  const errors = Array.isArray(entry.errors) ? entry.errors.map(String) : []
  const [first = String(entry.message ?? 'unknown reason')] = errors
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : ''
  const why = first.replaceAll(/\s*\n\s*/g, '; ')
  return `${time} refused, the old configuration stays: ${why}${more}`
}

function parsed(text: string): unknown {
  try {
    return parseJson(text)
  } catch {
    return undefined
  }
}
