/**
 * Writes code.ts from the declaration of fields, because both of its functions run for each request: a loop over the
 * declaration takes half as long again, and JSON.stringify of an object twice as long (test/bench/micro/access-line.ts).
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type FieldFacts, type FieldKind, namesIn } from './field.ts'
import { ATTEMPT_FIELDS, TRACE_FIELDS } from './fields.ts'
import { LOGGED } from './logged.ts'

const fields: readonly (readonly [string, FieldFacts])[] = Object.entries(TRACE_FIELDS)
const given = fields.filter(([, field]) => field.given).map(([name]) => name)

const starts = fields.map(([name, { given: isGiven, start }]) =>
  isGiven ? name : `${name}: ${start === undefined ? 'undefined' : literal(start)}`,
)

const logged = namesIn('log', TRACE_FIELDS).map((name) => {
  const { kind, logged: shown = name }: FieldFacts & { kind: FieldKind } = TRACE_FIELDS[name]
  if (name in LOGGED) return member(kind, shown, `LOGGED.${name}(trace)`)
  return member(kind, shown, kind === 'ms' ? `tenths(trace.${name})` : `trace.${name}`)
})

const ofAttempt = namesIn('log', ATTEMPT_FIELDS).map((name) =>
  member(ATTEMPT_FIELDS[name].kind, name, `last?.${name}`),
)

writeFileSync(
  join(import.meta.dirname, 'code.ts'),
  `/** The start of a trace, and its line in the log. \`npm run generate\` writes this file from fields.ts. */
import { TEXTS, type Trace } from './fields.ts'
import { LOGGED, other, tenths, text } from './logged.ts'

/** Every field is there, so that all traces have the same shape. */
export function newTrace(${given.map((name) => `${name}: string`).join(', ')}): Trace {
  return {
${lines([...starts, '[TEXTS]: undefined'])}
  }
}

/** Members that are undefined are not written. */
export function accessLine(trace: Trace): string {
  const last = trace.attempts.at(-1)
  return (
    \`{"time":"\${trace.time}","level":"\${trace.status >= 500 ? 'error' : 'info'}","event":"request"\` +
${[...logged, ...ofAttempt].map((one) => `    ${one} +`).join('\n')}
    '}\\n'
  )
}
`,
)

function member(kind: FieldKind, name: string, value: string): string {
  return kind === 'text' ? `text(',"${name}":"', ${value})` : `other(',"${name}":', ${value})`
}

function lines(members: readonly string[]): string {
  return members.map((member) => `    ${member},`).join('\n')
}

function literal(start: string | number | readonly never[]): string {
  return typeof start === 'string' ? `'${start}'` : JSON.stringify(start)
}
