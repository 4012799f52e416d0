/** Objects as the API server answers with them. */
import { parseJson } from '../../dataplane/json/parse.ts'
import { isRecord } from '../../dataplane/json/values.ts'
import type { KubeObject } from './objects.ts'
import type { ApiResponse } from './transport.ts'

/** A proxy that wants a login answers with a page, and with 200. */
export function jsonOf({ body }: Pick<ApiResponse, 'body'>): unknown {
  try {
    return parseJson(body.toString())
  } catch {
    throw new Error(
      'no API server of Kubernetes answers: what comes back is no JSON. Check the server, and proxies on the way.',
    )
  }
}

export function objectOf(answer: ApiResponse): KubeObject {
  const parsed = jsonOf(answer)
  if (!isRecord(parsed)) throw new Error('the API server answered with something that is no object')
  return withMetadata(parsed)
}

export function withMetadata(object: Readonly<Record<string, unknown>>): KubeObject {
  if (!isRecord(object.metadata) || typeof object.metadata.name !== 'string') {
    throw new Error('the API server answered with an object that has no name')
  }
  // The name was just looked at; the other members of metadata are the API server's own.
  return object as unknown as KubeObject
}
