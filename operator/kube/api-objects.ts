/** Objects in the API server's answers. */
import { parseJson } from '../../dataplane/json/parse.ts'
import { isRecord } from '../../dataplane/json/values.ts'
import type { KubeObject } from './objects.ts'
import type { ApiResponse } from './transport.ts'

/** A proxy that requires a login answers with a page, and with 200. */
export function jsonOf({ body }: Pick<ApiResponse, 'body'>): unknown {
  try {
    return parseJson(body.toString())
  } catch {
    throw new Error(
      'no API server of Kubernetes answers: the answer is not JSON. Check the server, and proxies on the way.',
    )
  }
}

export function objectOf(answer: ApiResponse): KubeObject {
  const parsed = jsonOf(answer)
  if (!isRecord(parsed))
    throw new Error('the API server answered with something that is not an object')
  return withMetadata(parsed)
}

export function withMetadata(object: Readonly<Record<string, unknown>>): KubeObject {
  if (!isRecord(object.metadata) || typeof object.metadata.name !== 'string') {
    throw new Error('the API server answered with an object without a name')
  }
  // The name was just checked; the API server defines the other members of metadata.
  return object as unknown as KubeObject
}
