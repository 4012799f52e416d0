/** The names of tools that a request was given for an upstream which does not take the client's. */
import type { ModelRequest } from '../wire/inner-form.ts'
import type { CallNames } from './calls.ts'

/** By the bytes of the request, which all copies of it share. */
const given = new WeakMap<Buffer, Map<string, string>>()

export function namesOf({ bytes }: Pick<ModelRequest, 'bytes'>): CallNames | undefined {
  return given.get(bytes)
}

/** Upstreams of one request may take names of different lengths: no two names that are made are the same. */
export function keepNames({ bytes }: Pick<ModelRequest, 'bytes'>, names: CallNames): void {
  const known = given.get(bytes) ?? new Map<string, string>()
  given.set(bytes, known)
  for (const [made, own] of names) known.set(made, own)
}
