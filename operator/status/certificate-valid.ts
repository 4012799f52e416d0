/** CertificateValid: whether the certificate of the listener is valid now, as the pods report it. */
import { isRecord, valueBelow } from '../../dataplane/json/values.ts'
import type { ReportedCertificate } from '../delivery/pod-reports.ts'
import { no, type StatusFacts, unknown, yes } from './facts.ts'
import type { Policy } from './policies.ts'

const WEEK_MS = 7 * 86_400_000

const noReport: Policy = (facts) =>
  firstToEnd(facts) === undefined
    ? unknown('No pod serves TLS yet. See ResolvedRefs and Programmed for its Secret.')
    : undefined

const expired: Policy = (facts) => {
  const certificate = firstToEnd(facts)
  if (certificate === undefined || certificate.until > nowOf(facts)) return undefined
  return no('Expired', `${named(certificate)} expired on ${moment(certificate.until)}. ${RENEW}`)
}

const notYetValid: Policy = (facts) => {
  const certificate = firstToEnd(facts)
  if (certificate === undefined || certificate.from <= nowOf(facts)) return undefined
  return no('NotYetValid', `${named(certificate)} begins on ${moment(certificate.from)}.`)
}

/** Short-lived certificates are renewed late in their life, too. */
const expiresSoon: Policy = (facts) => {
  const certificate = firstToEnd(facts)
  if (certificate === undefined) return undefined
  const left = certificate.until - nowOf(facts)
  const isSoon = left < WEEK_MS && left < (certificate.until - certificate.from) / 3
  if (!isSoon) return undefined
  return yes(
    'ExpiresSoon',
    `${named(certificate)} expires on ${moment(certificate.until)}. ${RENEW}`,
  )
}

const valid: Policy = (facts) => {
  const certificate = firstToEnd(facts)
  if (certificate === undefined) return undefined
  return yes('Valid', `${named(certificate)} is valid until ${moment(certificate.until)}.`)
}

export const CERTIFICATE_VALID = [noReport, expired, notYetValid, expiresSoon, valid]

const RENEW = 'Renew it in its Secret; the pods serve the new one within two minutes.'

/** Absent if the listener serves plain HTTP. */
export function wantsCertificate({ gateway, isPaused }: StatusFacts): boolean {
  return !isPaused && isRecord(valueBelow(gateway, 'gw', 'gateway', 'tls'))
}

/** A new Secret reaches the pods one by one; until then the oldest certificate decides. */
function firstToEnd({ pods }: StatusFacts): ReportedCertificate | undefined {
  const shown = pods.flatMap(({ report, target }) =>
    target.ready && report?.certificate ? [report.certificate] : [],
  )
  return shown.toSorted((one, other) => one.until - other.until)[0]
}

function nowOf({ now }: StatusFacts): number {
  return Date.parse(now)
}

function named({ name }: ReportedCertificate): string {
  return `The certificate for ${name}`
}

function moment(time: number): string {
  return new Date(time).toISOString()
}
