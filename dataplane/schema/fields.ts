/** The kinds of field that sections share. Bounds are on every string, list and map. */
import { z } from 'zod'

/** A name that another section, a label or a header refers to. */
export const name = () =>
  z
    .string()
    .min(1)
    .max(253)
    .regex(
      /^[A-Za-z0-9][A-Za-z0-9._:/-]*$/,
      'must start with a letter or digit and hold only letters, digits and . _ : / -',
    )

/** The beginning of names that clients send, and a *. */
export const namePattern = () =>
  z
    .string()
    .min(2)
    .max(253)
    .regex(
      /^[A-Za-z0-9][A-Za-z0-9._:/-]*[*]$/,
      'must start with a letter or digit, hold only letters, digits and . _ : / -, and end with *',
    )

/** Free text of one line. May hold `${env:NAME}` references. */
export const text = () => z.string().min(1).max(4096)

/** An absolute http or https URL. May hold `${env:NAME}` references. */
export const url = () =>
  text().refine((value) => value.includes('${') || isHttpUrl(value), {
    error: 'must be an absolute URL such as http://host:8000',
  })

export const port = () => z.int().min(1).max(65535)

export const seconds = (most = 86_400) => z.int().min(1).max(most)

export const count = (most = 1_000_000_000) => z.int().min(1).max(most)

/** Header names and values. A value may be a reference; values are never printed. */
export const headers = () => z.record(z.string().max(128), z.string().max(4096))

export const tlsVersion = () =>
  z
    .enum(['TLSv1.2', 'TLSv1.3'])
    .optional()
    .describe('Lowest TLS version; "1.2" and "1.3" are understood.')

function isHttpUrl(value: string): boolean {
  const parsed = URL.parse(value)
  return parsed !== null && (parsed.protocol === 'http:' || parsed.protocol === 'https:')
}

/** A day begins at midnight UTC. May hold a `${env:NAME}` reference. */
export const time = () =>
  z
    .string()
    .max(64)
    .refine((value) => value.includes('${') || isTime(value), {
      error: 'must be a day such as 2026-12-31, or a time such as 2026-12-31T09:00:00Z',
    })

const DAY_OR_TIME = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2}))?$/

function isTime(value: string): boolean {
  if (!DAY_OR_TIME.test(value)) return false
  const time = Date.parse(value)
  // February 30 would be read as March 2.
  return (
    !Number.isNaN(time) &&
    new Date(`${value.slice(0, 10)}T00:00:00Z`).toISOString().startsWith(value.slice(0, 10))
  )
}

const label = () =>
  z
    .string()
    .max(63)
    .regex(
      /^[A-Za-z0-9](?:[A-Za-z0-9._/-]*[A-Za-z0-9])?$/,
      'must begin and end with a letter or digit and hold only letters, digits and . _ / -',
    )

/** Labels of upstreams, by name. */
export const labels = () => z.record(label(), label())
