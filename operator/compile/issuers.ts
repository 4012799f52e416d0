/** Adds the keys of the cluster's issuer to configurations that use them. */
import { hashOf, type Payload } from '../../dataplane/delivery/signed.ts'
import { isRecord, listBelow, valueBelow } from '../../dataplane/json/values.ts'
import type { CompiledConfiguration } from './compile.ts'
import type { PublicKey } from './issuer-keys.ts'

export function asksForIssuerKeys(gw: unknown): boolean {
  return listBelow(gw, 'auth', 'jwt').some((issuer) => isOfCluster(issuer))
}

export function withIssuerKeys(
  configuration: CompiledConfiguration,
  keys: readonly PublicKey[],
): CompiledConfiguration {
  const { payload } = configuration
  const jwt = listBelow(payload.gw, 'auth', 'jwt').map((issuer) =>
    isRecord(issuer) && isOfCluster(issuer) ? { ...issuer, jwks: { keys } } : issuer,
  )
  // The check has passed, so the parts match the schema.
  const auth = { ...(payload.gw.auth as object), jwt }
  const filled = { ...payload, gw: { ...payload.gw, auth } } as Payload
  return { ...configuration, payload: filled, hash: hashOf(filled) }
}

function isOfCluster(issuer: unknown): boolean {
  return valueBelow(issuer, 'jwks', 'kubernetes') === true
}
