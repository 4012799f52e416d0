/** Documents for the tests: valid sections replace those that a test omits. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Loaded } from '../../../dataplane/config/apart/loaded.ts'
import type { Host } from '../../../dataplane/config/document/references.ts'
import type { Problem } from '../../../dataplane/config/judgement/problems.ts'
import type { Purpose } from '../../../dataplane/config/judgement/unresolved.ts'
import { loadConfiguration } from '../../../dataplane/config/load.ts'

const HEAD = 'apiVersion: inference.gw/v1\nkind: GatewayConfig\ngw:\n'

const DEFAULTS: Record<string, string> = {
  upstreams: `  upstreams:
    - {name: a, provider: vllm, endpoint: "http://a:8000", model: m, context_window: 8192, max_queue_depth: 50}
    - {name: b, provider: vllm, endpoint: "http://b:8000", model: m, context_window: 8192, max_queue_depth: 50}
`,
  routes: `  routes:
    - {name: r, strategy: round_robin, upstreams: [a, b]}
`,
  api_keys: `  api_keys:
    - {id: k, tenant: t, hash: "${hashOf('k')}", routes: ["*"]}
`,
}

export const NOW = Date.parse('2026-11-21T00:00:00Z')

/** A hash that differs by name. */
export function hashOf(name: string): string {
  return `sha256:${Buffer.from(name).toString('hex').padEnd(64, '0')}`
}

/** The given sections, indented by two, followed by defaults for required ones. */
export function aDocument(sections = ''): string {
  const given = sections.replace(/^\n/, '')
  const missing = Object.entries(DEFAULTS).filter(
    ([name]) => !new RegExp(`^ {2}${name}:`, 'm').test(given),
  )
  const end = given === '' || given.endsWith('\n') ? '' : '\n'
  return `${HEAD}${given}${end}${missing.map(([, text]) => text).join('')}`
}

export interface World {
  readonly env?: Record<string, string>
  readonly files?: Record<string, string>
}

export function aHost({ env = {}, files = {} }: World = {}): Host {
  return {
    env,
    readText(path) {
      const text = files[path]
      if (text === undefined) throw Object.assign(new Error('no file'), { code: 'ENOENT' })
      return text
    },
    now: () => NOW,
  }
}

export function load(text: string, world: World = {}, purpose: Purpose = 'run'): Loaded {
  return loadConfiguration(text, 'gw.yaml', aHost(world), purpose)
}

/** One broken document: `# here` marks the line that the problem must name. */
export interface Row {
  readonly name: string
  readonly yaml: string
  readonly path: string
  readonly says: string
  readonly fix: string
  /** Used if a comment would change the document. */
  readonly line?: number
  /** The text is the whole document. */
  readonly whole?: true
}

export function testRefusals(rows: readonly Row[]): void {
  testRows(rows, 'error')
}

export function testWarnings(rows: readonly Row[]): void {
  testRows(rows, 'warning')
}

function testRows(rows: readonly Row[], severity: Problem['severity']): void {
  for (const row of rows) {
    test(`${severity}: ${row.name}`, () => {
      const text = row.whole ? row.yaml : aDocument(row.yaml)
      const line = row.line ?? text.split('\n').findIndex((one) => one.includes('# here')) + 1
      assert.notEqual(line, 0, 'the row marks no line')
      const { problems, configuration } = load(text)
      const found = problems.find(
        (problem) =>
          problem.severity === severity &&
          problem.path === row.path &&
          problem.message.includes(row.says),
      )
      assert.ok(found, `not found among ${JSON.stringify(problems, null, 1)}`)
      assert.equal(found.line, line)
      assert.equal(found.file, 'gw.yaml')
      assert.match(found.fix, new RegExp(row.fix.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')))
      assert.equal(
        configuration === undefined,
        problems.some((one) => one.severity === 'error'),
      )
    })
  }
}
