/** Keeps what we sent an upstream to prove ourselves out of what it says back. */
import type { UpstreamSettings } from '../config/snapshot.ts'
import type { Failure } from '../providers/contract.ts'

const MASK = '***'
/** Shorter header values are words like "true", which prove nothing and stand in every text. */
const SECRET_LENGTH_MIN = 8

/** A failure in the upstream's words, without the credential and the header values it was sent. */
export function masked(failure: Failure, { credential, headers }: UpstreamSettings): Failure {
  const secrets = Object.values(headers).filter((value) => value.length >= SECRET_LENGTH_MIN)
  if (credential !== '') secrets.push(credential)
  const told = [failure.message, failure.type, failure.param, failure.code].join()
  if (!secrets.some((secret) => told.includes(secret))) return failure
  const clean = <T extends string | null | undefined>(text: T) =>
    typeof text === 'string'
      ? secrets.reduce((shown: string, secret) => shown.replaceAll(secret, MASK), text)
      : text
  return {
    ...failure,
    message: clean(failure.message) ?? '',
    ...(failure.type === undefined ? {} : { type: clean(failure.type) }),
    ...(failure.param === undefined ? {} : { param: clean(failure.param) }),
    ...(failure.code === undefined ? {} : { code: clean(failure.code) }),
  } as Failure
}
