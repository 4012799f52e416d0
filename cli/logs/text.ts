/** A line of the log for people, in the form of `gw run` on a terminal. */
import { type Colour, paint, statusColour } from '../printing/colours.ts'
import type { Entry } from './entry.ts'

const LEVEL_WIDTH = 5
const LEVELS: Readonly<Record<string, Colour>> = { warn: 'yellow', error: 'red' }
/** Fields with a fixed position in the line. */
const PLACED = new Set(['time', 'level', 'event', 'message'])
/** Pod names differ at their end. */
const POD_TAIL = /[^-]+$/

export function textOf(entry: Entry, isWide: boolean): string {
  const { fields, text, pod } = entry
  const place = isWide ? pod : pod && POD_TAIL.exec(pod)?.[0]
  const from = place === undefined ? '' : `${paint(place, 'grey', process.stdout)} `
  if (fields === undefined) return `${from}${printable(text)}`
  const time = String(fields.time ?? '')
  const level = String(fields.level ?? '')
  const shownTime = isWide ? time : time.slice(11, 19)
  const shownLevel = paint(level.padEnd(LEVEL_WIDTH), LEVELS[level], process.stdout)
  const said = fields.event === 'request' ? requestOf(fields, isWide) : eventOf(fields)
  return `${from}${printable(shownTime)} ${shownLevel} ${said}`
}

type EntryFields = NonNullable<Entry['fields']>

function requestOf(fields: EntryFields, isWide: boolean): string {
  const { method, path, status, route, upstream, attempts, tenant, code } = fields
  const where = upstream === 'none' ? `${route}` : `${route} at ${upstream}`
  const shown = paint(String(status), statusColour(Number(status)), process.stdout)
  const prompt = fields.prompt_tokens
  const facts = [
    tenant,
    code,
    Number(attempts) > 1 ? `${attempts} attempts` : undefined,
    prompt === undefined ? undefined : `${prompt}+${fields.completion_tokens ?? 0} tokens`,
    `${Math.round(Number(fields.duration_ms))} ms`,
    fields.request_id,
    ...(isWide ? [named('key', fields.key), named('model', fields.model), fields.reason] : []),
  ].filter((fact) => fact !== undefined)
  return `${printable(`${method} ${path}`)} ${shown} ${printable(`${where}, ${facts.join(', ')}`)}`
}

function named(name: string, value: unknown): string | undefined {
  return value === undefined ? undefined : `${name} ${value}`
}

function eventOf(fields: EntryFields): string {
  const more = Object.entries(fields).filter(([name]) => !PLACED.has(name))
  const facts = more.map(([name, value]) => ` ${name}=${valueText(value)}`)
  return printable(`${fields.message ?? fields.event ?? ''}${facts.join('')}`)
}

function valueText(value: unknown): string {
  if (typeof value === 'string' && !/[ "=]/.test(value)) return value
  return JSON.stringify(value)
}

/** Clients choose paths and model names, so their characters must not control a terminal. */
function printable(text: string): string {
  return text.replaceAll(
    /[\p{Cc}\p{Cf}\u2028\u2029]/gu,
    (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`,
  )
}
