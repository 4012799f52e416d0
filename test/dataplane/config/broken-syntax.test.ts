/** Bytes that are not a document. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aDocument, load, type Row, testRefusals } from './documents.ts'

const HEAD = 'apiVersion: inference.gw/v1\nkind: GatewayConfig\n'

const SYNTAX: Row[] = [
  {
    name: 'an empty file',
    yaml: '',
    whole: true,
    line: 1,
    path: '',
    says: 'empty',
    fix: 'apiVersion',
  },
  {
    name: 'a field twice',
    yaml: '  tls: {}\n  tls: {} # here',
    path: '',
    says: '"tls" is written twice',
    fix: 'Remove one',
  },
  {
    name: 'a tab for indentation',
    yaml: `${HEAD}gw:\n\ttls: {}\n`,
    whole: true,
    line: 4,
    path: '',
    says: 'not valid YAML',
    fix: 'spaces',
  },
  {
    name: 'two documents',
    yaml: `${aDocument()}---\nsecond: true\n`,
    whole: true,
    line: aDocument().split('\n').length,
    path: '',
    says: 'several documents',
    fix: 'Remove everything',
  },
  {
    name: 'a list at the root',
    yaml: '- a\n- b\n',
    whole: true,
    line: 1,
    path: '',
    says: 'must be a map',
    fix: 'Start with apiVersion',
  },
  {
    name: 'a name that would change prototypes',
    yaml: '  __proto__: {} # here',
    path: '',
    says: '"__proto__" is not allowed',
    fix: 'another name',
  },
  {
    name: 'a bracket that is not closed',
    yaml: `${HEAD}gw: [1, 2\n`,
    whole: true,
    line: 4,
    path: '',
    says: 'not valid YAML',
    fix: 'close what is open',
  },
  {
    name: 'an alias without an anchor',
    yaml: '  tls: *missing # here',
    path: '',
    says: 'no anchor for the alias *missing',
    fix: '&missing',
  },
  {
    name: 'an alias bomb',
    yaml: `  a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n${Array.from(
      { length: 9 },
      (_, index) =>
        `  a${index + 1}: &a${index + 1} [${Array(10).fill(`*a${index}`).join(', ')}]\n`,
    ).join('')}`,
    line: 4,
    path: '',
    says: 'aliases repeat too many values',
    fix: 'Write the values out',
  },
  {
    name: 'an alias of itself',
    yaml: '  a: &a\n    b: *a # here',
    path: '',
    says: 'refers to itself',
    fix: 'Write the value out',
  },
  {
    name: 'brackets without end',
    yaml: '['.repeat(100_000),
    whole: true,
    line: 1,
    path: '',
    says: 'nested too deeply',
    fix: 'Flatten',
  },
  {
    name: 'a custom tag',
    yaml: '  tls: !secret {} # here',
    path: '',
    says: 'not valid YAML',
    fix: 'tag',
  },
]

testRefusals(SYNTAX)

test('one slip of indentation is reported once', () => {
  for (const [text, fix] of [
    [
      `${HEAD}gw:\n  routes:\n    - name: a\n      primary: b\n     strategy: single\n`,
      /Align the line/,
    ],
    [`${HEAD}gw:\n  tls:\n    a: b\n     c: d\n`, /on a separate line/],
    [`${HEAD}gw:\n\troutes:\n    - name: a\n  tls: {}\n`, /Indent with spaces/],
  ] as const) {
    const { problems } = load(text)
    assert.equal(problems.length, 1)
    assert.match(problems[0]?.fix ?? '', fix)
  }
})
