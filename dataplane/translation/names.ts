/** The tool names that a request uses for an upstream that refuses the client's names. */
import type { ModelRequest } from '../wire/inner-form.ts'
import type { CallNames } from './calls.ts'

/** By the request's bytes, which all its copies share. */
const given = new WeakMap<Buffer, Map<string, string>>()

export function namesOf({ bytes }: Pick<ModelRequest, 'bytes'>): CallNames | undefined {
  return given.get(bytes)
}

/** Upstreams of one request may accept different lengths, so all generated names differ. */
export function keepNames({ bytes }: Pick<ModelRequest, 'bytes'>, names: CallNames): void {
  const known = given.get(bytes) ?? new Map<string, string>()
  given.set(bytes, known)
  for (const [made, own] of names) known.set(made, own)
}
