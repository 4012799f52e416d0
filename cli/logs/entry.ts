/** One line of a gateway's log, and the filters for lines. */
import { parseJson } from '../../dataplane/json/parse.ts'
import { isRecord } from '../../dataplane/json/values.ts'

export interface Entry {
  readonly text: string
  /** Members of a line that is JSON. */
  readonly fields: Readonly<Record<string, unknown>> | undefined
  /** Milliseconds; a line without a time gets that of the line before it. */
  readonly at: number
  /** The pod, in a cluster. */
  readonly pod: string | undefined
}

export interface Filter {
  readonly tenant?: string | undefined
  readonly route?: string | undefined
  /** `429`, `5xx`. */
  readonly status?: readonly string[] | undefined
  readonly requestId?: string | undefined
}

export function entryOf(text: string, before: number, pod: string | undefined): Entry {
  const fields = parsed(text)
  const time = Date.parse(String(fields?.time))
  return { text, fields, at: Number.isNaN(time) ? before : time, pod }
}

/** With a filter, only lines about requests match. */
export function isAsked({ fields }: Entry, { tenant, route, status, requestId }: Filter): boolean {
  const ids = [fields?.request_id, fields?.client_request_id]
  return (
    (tenant === undefined || fields?.tenant === tenant) &&
    (route === undefined || fields?.route === route) &&
    (requestId === undefined || ids.includes(requestId)) &&
    (status === undefined || status.some((one) => isStatus(fields?.status, one)))
  )
}

function isStatus(status: unknown, asked: string): boolean {
  if (typeof status !== 'number') return false
  return asked.endsWith('xx') ? `${Math.floor(status / 100)}xx` === asked : String(status) === asked
}

function parsed(text: string): Entry['fields'] {
  if (!text.startsWith('{')) return undefined
  try {
    const value: unknown = parseJson(text)
    return isRecord(value) ? value : undefined
  } catch {
    return undefined
  }
}
