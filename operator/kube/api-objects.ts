/** Objects as the API server answers with them. */
import { isRecord } from '../../dataplane/json/values.ts'
import type { KubeObject } from './objects.ts'
import type { ApiResponse } from './transport.ts'

export function objectOf({ body }: ApiResponse): KubeObject {
  const parsed: unknown = JSON.parse(body.toString())
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
