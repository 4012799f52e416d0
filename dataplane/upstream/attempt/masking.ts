/** Removes the credentials that the gateway sent from the texts of an upstream, and shortens these texts. */
import type { UpstreamSettings } from '../../config/snapshot.ts'
import type { Failure } from '../../wire/provider.ts'

const MASK = '***'
/** Shorter header values are words like "true", which are no secrets and occur in many texts. */
const SECRET_LENGTH_MIN = 8
const MESSAGE_LENGTH_MAX = 2_000
const LABEL_LENGTH_MAX = 200

export type Sent = Pick<UpstreamSettings, 'credential' | 'headers' | 'otherSecrets'>

/**
 * An upstream's error text without the credential and the header values that were sent. Shortened last, because a
 * credential that is cut at the edge could not be found.
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

/** Whether a text of an upstream repeats a secret that was sent to it. */
export function repeatsSecret(text: string, sent: Sent): boolean {
  return secretsOf(sent).some((secret) => text.includes(secret))
}

function secretsOf({ credential, headers, otherSecrets = [] }: Sent): string[] {
  const secrets = Object.values(headers).filter((value) => value.length >= SECRET_LENGTH_MIN)
  return [...secrets, ...[credential, ...otherSecrets].filter((secret) => secret !== '')]
}

function withoutSecret(text: string, secret: string): string {
  const shown = text.includes(secret) ? text.replaceAll(secret, MASK) : text
  // A text that was cut may end in the middle of a secret.
  for (let length = secret.length - 1; length >= SECRET_LENGTH_MIN; length--) {
    const start = shown.length - length
    if (start >= 0 && shown.startsWith(secret.slice(0, length), start))
      return shown.slice(0, start) + MASK
  }
  return shown
}
