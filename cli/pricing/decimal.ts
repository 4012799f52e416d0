/** Prices as decimals: exact, because 0.0000015 times a million is not 1.5 in floating point. */

import { NumberText } from '../../dataplane/json/numbers.ts'

/** Digits after the point of a price per million tokens: the gateway keeps pico-dollars a token. */
const DIGITS = 6
const MILLION_DIGITS = 6
/** A larger exponent of either sign is no price. */
const EXPONENT_MAX = 30
const DIGITS_MAX = 60
/** USD a token. No known model has a tenth of this price; a price per million tokens is far above it. */
const USD_PER_TOKEN_MAX = 0.01

export type Price = { readonly amount: number } | { readonly fault: string }

/** USD per million tokens from USD a token. `value` is a value of JSON; its text may have an exponent. */
export function perMillion(value: unknown): Price {
  const read = scaled(value, MILLION_DIGITS)
  if ('fault' in read) return read
  if (Number(read.text) > USD_PER_TOKEN_MAX * 1e6)
    return {
      fault: `is ${shown(value)}, more than ${USD_PER_TOKEN_MAX} USD a token; the list must give USD a token, not per million`,
    }
  return { amount: Number(read.text) }
}

/** USD as they are. */
export function usd(value: unknown): Price {
  const read = scaled(value, 0)
  return 'fault' in read ? read : { amount: Number(read.text) }
}

/** The decimal times a power of ten, rounded half up to six digits after the point. */
function scaled(value: unknown, shift: number): { text: string } | { fault: string } {
  const isText = typeof value !== 'object' || value instanceof NumberText
  const text = isText ? String(value).trim() : ''
  const match = /^([+-]?)(\d*)\.?(\d*)(?:[eE]([+-]?\d+))?$/.exec(text)
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = match ?? []
  const digits = whole + fraction
  if (match === null || digits === '' || typeof value === 'boolean')
    return { fault: `is ${shown(value)}, not a number` }
  const power = Number(exponent) - fraction.length + shift + DIGITS
  if (/^0*$/.test(digits)) return { text: '0' }
  if (sign === '-') return { fault: `is ${shown(value)}, less than 0` }
  if (Math.abs(Number(exponent)) > EXPONENT_MAX || digits.length > DIGITS_MAX)
    return { fault: `is ${shown(value)}, which is not a price` }
  const units = power >= 0 ? BigInt(digits) * 10n ** BigInt(power) : rounded(digits, -power)
  const padded = String(units).padStart(DIGITS + 1, '0')
  return { text: `${padded.slice(0, -DIGITS)}.${padded.slice(-DIGITS)}` }
}

function rounded(digits: string, places: number): bigint {
  const divisor = 10n ** BigInt(places)
  return (BigInt(digits) + divisor / 2n) / divisor
}

function shown(value: unknown): string {
  const json = value instanceof NumberText ? value.text : (JSON.stringify(value) ?? '')
  return json.length > 40 ? `${json.slice(0, 40)}…` : json
}
