/** Lines of the log for people at a terminal: the time, the event, and its facts. */
import type { Trace } from '../trace/fields.ts'

type LogFields = Readonly<Record<string, unknown>>

const LEVEL_WIDTH = 5
/** A value is cut if it would fill the screen. */
const VALUE_LENGTH_MAX = 200

export function eventText(
  time: string,
  level: string,
  { event, message, fields = {} }: { event: string; message: string; fields?: LogFields },
): string {
  // The message of `start` contains all facts.
  const facts = event === 'start' ? [] : Object.entries(fields)
  const written = facts
    .filter(([, value]) => value !== undefined && value !== null)
    .map(([name, value]) => ` ${name}=${valueText(value)}`)
  return `${headOf(time, level)} ${printable(message)}${written.join('')}\n`
}

export function requestText(trace: Trace): string {
  const { method, path, status, route, upstream, code, tenant, attempts } = trace
  const level = status >= 500 ? 'error' : 'info'
  const where = upstream === 'none' ? route : `${route} at ${upstream}`
  const facts = [
    tenant,
    code,
    attempts.length > 1 ? `${attempts.length} attempts` : undefined,
    trace.prompt_tokens === undefined
      ? undefined
      : `${trace.prompt_tokens}+${trace.completion_tokens ?? 0} tokens`,
    `${trace.duration_ms.toFixed(0)} ms`,
    trace.request_id,
  ].filter((fact) => fact !== undefined)
  const line = `${method} ${path} ${status} ${where}, ${facts.join(', ')}`
  return `${headOf(trace.time, level)} ${printable(line)}\n`
}

function headOf(time: string, level: string): string {
  return `${time.slice(11, 19)} ${level.padEnd(LEVEL_WIDTH)}`
}

function valueText(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
  const cut = text.length > VALUE_LENGTH_MAX ? `${text.slice(0, VALUE_LENGTH_MAX)}…` : text
  return printable(/[ "=]/.test(cut) && typeof value === 'string' ? JSON.stringify(cut) : cut)
}

/** Removes control characters, because clients choose paths and model names. */
function printable(text: string): string {
  return text.replaceAll(
    /[\p{Cc}\p{Cf}\u2028\u2029]/gu,
    (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`,
  )
}
