/** Each value of the chart is documented, and known to the schema; and vice versa. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parse } from 'yaml'
import { readValues } from '../../charts/values.ts'
import { readChart } from '../helpers/kubernetes/chart.ts'

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: unknown
  readonly $ref?: string
  readonly type?: string
  readonly definitions?: Readonly<Record<string, Schema>>
}

const schema: Schema = JSON.parse(readChart('values.schema.json'))
const values = readValues(readChart('values.yaml'))

/** Kubernetes and cert-manager define their parts. */
const OF_OTHERS: readonly unknown[] = ['resources', 'issuerRef']

function known(node: Schema, path: readonly string[] = []): string[] {
  const name = node.$ref?.split('/').at(-1)
  const target = name === undefined ? node : (schema.definitions?.[name] ?? node)
  if (target.properties === undefined || OF_OTHERS.includes(name)) return [path.join('.')]
  return Object.entries(target.properties).flatMap(([key, child]) => known(child, [...path, key]))
}

/** Helm adds it to every chart. */
const OF_HELM = ['global']

test('every value has a sentence on its purpose', () => {
  const documented = new Set(values.map(({ path }) => path))
  const leaves: string[] = []
  const walk = (node: unknown, path: readonly string[]) => {
    if (documented.has(path.join('.'))) return
    if (typeof node !== 'object' || node === null || Array.isArray(node)) {
      leaves.push(path.join('.'))
      return
    }
    for (const [key, child] of Object.entries(node)) walk(child, [...path, key])
  }
  walk(parse(readChart('values.yaml')), [])
  assert.deepEqual(leaves, [])
  for (const { path, meaning } of values) assert.match(meaning, /\w.*[.;:}`]$|[.]$/, path)
})

test('the schema knows every value, and no other', () => {
  const there = values.map(({ path }) => path).sort()
  // An interval of a rule or an enabled of a switch: definitions are shared.
  assert.deepEqual(
    known(schema)
      .filter((path) => !OF_HELM.includes(path))
      .sort(),
    there,
  )
})

test('a comment on several lines is one sentence, and a comment about a section does not belong to its first value', () => {
  const text = '# About all.\n\n# -- One\n# line.\na: 1\nb:\n  # -- Two.\n  c: {}\nd: 3\n'
  assert.deepEqual(readValues(text), [
    { path: 'a', initial: 1, meaning: 'One line.' },
    { path: 'b.c', initial: {}, meaning: 'Two.' },
  ])
})
