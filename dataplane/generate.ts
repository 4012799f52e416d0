/** Writes the tables of dataplane/docs/ from the code: APIs, admin routes, errors, metrics, models. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ADMIN_ROUTES } from './admin/routes.ts'
import { APIS } from './apis/index.ts'
import { ERRORS } from './base/errors.ts'
import { PUSH_ROUTES } from './pod/push.ts'
import { PROVIDERS } from './providers/index.ts'
import { STRATEGIES } from './strategies/index.ts'
import { METRICS } from './telemetry/metrics.ts'
import type { FieldFacts } from './telemetry/trace/field.ts'
import { ATTEMPT_FIELDS, TRACE_FIELDS } from './telemetry/trace/fields.ts'
import './telemetry/trace/generate.ts'
import { FACTS, type ModelRow } from './wire/models/capabilities.ts'

/** Names of the places that show a field of a trace. */
const PLACES = { log: 'log', span: 'span', record: 'log record', event: 'usage event' }

/** Which page has which tables. */
const PAGES: Readonly<Record<string, readonly string[]>> = {
  'admin.md': ['admin'],
  'api.md': ['apis'],
  'attempts.md': ['providers', 'strategies'],
  'errors.md': ['errors'],
  'metrics.md': ['metrics'],
  'models.md': ['facts', 'models'],
  'pod.md': ['push'],
  'tracing.md': ['trace', 'attempt'],
}

const TABLES: Readonly<Record<string, () => string>> = {
  apis: () =>
    table(
      ['method', 'path', 'answers'],
      APIS.map(({ method, path, summary }) => [method, code(path), summary]),
    ),
  admin: () =>
    table(
      ['method', 'path', 'answers'],
      ADMIN_ROUTES.map(({ method, path, summary }) => [method, code(path), summary]),
    ),
  push: () =>
    table(
      ['method', 'path', 'answers'],
      PUSH_ROUTES.map(({ method, path, summary }) => [method, code(path), summary]),
    ),
  errors: () =>
    table(
      ['code', 'status', 'type', 'when'],
      Object.entries(ERRORS).map(([name, { status, type, when }]) => [
        code(name),
        status === 0 ? 'none' : String(status),
        type,
        when,
      ]),
    ),
  metrics: () =>
    table(
      ['metric', 'kind', 'labels', 'what'],
      Object.values(METRICS).map(({ name, kind, labels, help }) => [
        code(name),
        kind,
        labels.join(', '),
        help,
      ]),
    ),
  providers: () =>
    table(
      ['provider', 'speaks'],
      [...PROVIDERS.values()].map(({ name, summary }) => [code(name), summary]),
    ),
  strategies: () =>
    table(
      ['strategy', 'order'],
      Object.values(STRATEGIES).map(({ name, summary }) => [code(name), summary]),
    ),
  facts: () =>
    table(
      ['fact', 'what'],
      Object.entries(FACTS).map(([name, what]) => [code(name), what]),
    ),
  models: () => modelTables(),
  trace: () => fieldTable(TRACE_FIELDS),
  attempt: () => fieldTable(ATTEMPT_FIELDS),
}

function fieldTable(fields: Readonly<Record<string, FieldFacts>>): string {
  return table(
    ['field', 'what', 'in'],
    Object.entries(fields).map(([name, { what, in: places = [], tree, console: words }]) => [
      code(name),
      what,
      [
        ...places.map((place) => PLACES[place]),
        ...(tree ? ['line of `gw trace get`'] : []),
        ...(words ? ['line of the console'] : []),
      ].join(', '),
    ]),
  )
}

/** A table for each provider; a row of several providers is in the first one. */
function modelTables(): string {
  const shown = new Map<ModelRow, string>()
  return [...PROVIDERS.values()]
    .flatMap(({ name, models = [] }) => {
      const own = models.filter((row) => !shown.has(row))
      const others = new Set(models.flatMap((row) => shown.get(row) ?? []))
      for (const row of own) shown.set(row, name)
      if (models.length === 0) return []
      const rows = table(['models', 'facts', 'checked', 'source'], own.map(modelRow))
      const more = [...others].map(code).join(', ')
      return [`### ${name}\n\n${rows}${more && `\n\nThe rows of ${more} hold, too.`}`]
    })
    .join('\n\n')
}

function modelRow({ of, checked, source, ...facts }: ModelRow): string[] {
  const said = Object.entries(facts).map(([name, value]) => `${name}: ${factText(value)}`)
  return [code(of.source.replaceAll('|', '\\|')), said.join('; '), checked, source]
}

function factText(value: unknown): string {
  if (Array.isArray(value)) return value.join(', ') || 'none'
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  return typeof value === 'number' ? value.toLocaleString('en') : String(value)
}

for (const [page, names] of Object.entries(PAGES)) {
  const file = join(import.meta.dirname, 'docs', page)
  writeFileSync(file, names.reduce(withTable, readFileSync(file, 'utf8')))
}

function withTable(text: string, name: string): string {
  const section = new RegExp(`(<!-- generated: ${name} -->\n)[\\s\\S]*?(<!-- end -->)`)
  const render = TABLES[name]
  if (render === undefined || !section.test(text)) throw new Error(`There is no table "${name}".`)
  return text.replace(
    section,
    (_all, head: string, end: string) => `${head}\n${render()}\n\n${end}`,
  )
}

function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [line(heads), line(heads.map(() => '---')), ...rows.map(line)].join('\n')
}

function code(text: string): string {
  return `\`${text}\``
}
