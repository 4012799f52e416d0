/** The part of a request that has these headers, by lower-case name. */
import type { Caller, ClientCertificate, LastKey } from '../../dataplane/call/call.ts'
import type { Snapshot } from '../../dataplane/config/snapshot.ts'
import { headerIn } from '../../dataplane/http1/header-lines.ts'
import { authenticate } from '../../dataplane/request/stages/authenticate.ts'

export type Headers = Readonly<Record<string, string>>

export function headed(headers: Headers, certificate?: ClientCertificate, lastKey?: LastKey) {
  return {
    certificate,
    header: (name: string) => headerIn(Object.entries(headers).flat(), name),
    ...(lastKey && { lastKey }),
  }
}

/** The caller with a key, without an issuer. */
export function callerWithKey(
  headers: Headers,
  names: Snapshot,
  now: number,
  certificate?: ClientCertificate,
  lastKey?: LastKey,
): Caller {
  const issuers = { isEmpty: true, verified: () => undefined, verify: () => Promise.reject() }
  const caller = authenticate(headed(headers, certificate, lastKey), { names, issuers }, now)
  if (caller instanceof Promise) throw new Error('keys are known at once')
  return caller
}
