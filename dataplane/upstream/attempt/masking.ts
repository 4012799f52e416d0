/** Keeps what we sent an upstream to prove ourselves out of what it says back, and what it says short. */
import type { UpstreamSettings } from '../../config/snapshot.ts'
import type { Failure } from '../../wire/provider.ts'

const MASK = '***'
/** Shorter header values are words like "true", which prove nothing and stand in every text. */
const SECRET_LENGTH_MIN = 8
const MESSAGE_LENGTH_MAX = 2_000
const LABEL_LENGTH_MAX = 200

export type Sent = Pick<UpstreamSettings, 'credential' | 'headers' | 'otherSecrets'>

/**
 * A failure in the upstream's words, without the credential and the header values it was sent. It is shortened last: of
 * a credential at the edge the first part would be left, which nothing would find any more.
 */
export function masked(failure: Failure, sent: Sent): Failure {
  const secrets = secretsOf(sent)
  const clean = (text: string, lengthMax: number) =>
    secrets.reduce(withoutSecret, text).slice(0, lengthMax)
  const label = (text: string | null) => text && clean(text, LABEL_LENGTH_MAX)
  const { message, type, param, code } = failure
  return {
    ...failure,
    message: clean(message, MESSAGE_LENGTH_MAX),
    ...(type !== undefined && { type: label(type) }),
    ...(param !== undefined && { param: label(param) }),
    ...(code !== undefined && { code: label(code) }),
  }
}

/** Whether a text that an upstream chose repeats what it was sent. */
export function repeatsSecret(text: string, sent: Sent): boolean {
  return secretsOf(sent).some((secret) => text.includes(secret))
}

function secretsOf({ credential, headers, otherSecrets = [] }: Sent): string[] {
  const secrets = Object.values(headers).filter((value) => value.length >= SECRET_LENGTH_MIN)
  return [...secrets, ...[credential, ...otherSecrets].filter((secret) => secret !== '')]
}

function withoutSecret(text: string, secret: string): string {
  const shown = text.includes(secret) ? text.replaceAll(secret, MASK) : text
  // A text that was cut on its way here may end in the middle of one.
  for (let length = secret.length - 1; length >= SECRET_LENGTH_MIN; length--) {
    const start = shown.length - length
    if (start >= 0 && shown.startsWith(secret.slice(0, length), start))
      return shown.slice(0, start) + MASK
  }
  return shown
}
