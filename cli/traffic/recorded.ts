/** Recorded requests: one JSON object a line, with `path`, `body`, and `method` if it is not POST. */
import { parseJson } from '../../dataplane/json/parse.ts'
import { isRecord } from '../../dataplane/json/values.ts'

export interface RecordedRequest {
  readonly line: number
  readonly method: string
  readonly path: string
  /** JSON text; absent for GET. */
  readonly body: string | undefined
}

const BYTES_MAX = 64 * 1024 * 1024
const REQUESTS_MAX = 10_000
const MEMBERS = ['method', 'path', 'body']
const FORM = 'Write {"path": "/v1/chat/completions", "body": {…}}.'

/** Throws a sentence with the line if one is no such request. */
export function recordedRequests(name: string, text: string): RecordedRequest[] {
  if (text.length > BYTES_MAX) throw new Error(`${name} has more than 64 MiB.`)
  const requests = text.split('\n').flatMap((line, index) => {
    if (line.trim() === '') return []
    return [requestIn(line, `${name}:${index + 1}`, index + 1)]
  })
  if (requests.length === 0) throw new Error(`${name} has no requests. ${FORM}`)
  if (requests.length > REQUESTS_MAX)
    throw new Error(`${name} has more than ${REQUESTS_MAX} requests; take a part of them.`)
  return requests
}

function requestIn(text: string, place: string, line: number): RecordedRequest {
  const value = parsed(text)
  if (!isRecord(value)) throw new Error(`${place}: the line is not a JSON object. ${FORM}`)
  const other = Object.keys(value).find((member) => !MEMBERS.includes(member))
  // Headers may hold keys, and the keys of this run are given apart.
  if (other !== undefined)
    throw new Error(`${place}: ${JSON.stringify(other)} is not read; remove it. ${FORM}`)
  const { path, method = 'POST', body } = value
  if (typeof path !== 'string' || !/^\/[^\s#]*$/.test(path) || path.startsWith('//'))
    throw new Error(`${place}: path must start with one /. ${FORM}`)
  if (method !== 'POST' && method !== 'GET')
    throw new Error(`${place}: method must be POST or GET.`)
  if (method === 'POST' && !isRecord(body))
    throw new Error(`${place}: body must be an object. ${FORM}`)
  if (method === 'GET' && body !== undefined) throw new Error(`${place}: GET has no body.`)
  return { line, method, path, body: body === undefined ? undefined : JSON.stringify(body) }
}

function parsed(text: string): unknown {
  try {
    return parseJson(text)
  } catch {
    return undefined
  }
}
