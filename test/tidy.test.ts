/** The rules of the tree, checked on the files themselves. Each failure names the file and what to do. */
import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { test } from 'node:test'
import { PROVIDER_FACTS } from '../dataplane/providers/index.ts'
import { circlesOf } from './tidy/circles.ts'
import { clumsyPhrase, REWRITTEN } from './tidy/phrases.ts'

const ROOT = join(import.meta.dirname, '..')
const SOURCES = ['dataplane', 'crds', 'operator', 'cli', 'charts', 'test']
const LINES_MAX = 300
const FILES_MAX = 15
const LINE_LENGTH_MAX = 130

interface Source {
  readonly path: string
  readonly text: string
}

const sources: readonly Source[] = SOURCES.flatMap(walk)
const code = sources.filter(({ path }) => path.endsWith('.ts'))
const product = code.filter(({ path }) => !path.startsWith('test/'))

/** What a folder may import of ours; the first prefix that matches a file decides. */
const IMPORTS: readonly (readonly [from: string, may: readonly string[]])[] = [
  [
    'dataplane/providers/',
    ['dataplane/providers/', 'dataplane/call.ts', 'dataplane/base/errors.ts', 'dataplane/json/'],
  ],
  [
    'dataplane/strategies/',
    ['dataplane/strategies/', 'dataplane/call.ts', 'dataplane/config/schema/index.ts'],
  ],
  [
    'dataplane/config/',
    [
      'dataplane/config/',
      'dataplane/json/',
      'dataplane/providers/',
      'dataplane/strategies/',
      'dataplane/base/errors.ts',
      'dataplane/limits/rules.ts',
      'dataplane/budgets/price.ts',
      'dataplane/budgets/reserve.ts',
    ],
  ],
  [
    'dataplane/delivery/',
    [
      'dataplane/delivery/',
      'dataplane/config/',
      'dataplane/json/',
      'dataplane/providers/',
      'dataplane/base/',
    ],
  ],
  ['dataplane/base/', ['dataplane/base/', 'package.json']],
  ['dataplane/json/', ['dataplane/json/', 'dataplane/call.ts', 'dataplane/base/errors.ts']],
  [
    'dataplane/stages/',
    [
      'dataplane/',
      '!dataplane/listener/server.ts',
      '!dataplane/main.ts',
      '!dataplane/pipeline.ts',
      '!dataplane/stages/',
    ],
  ],
  [
    'dataplane/store/',
    [
      'dataplane/store/',
      'dataplane/limits/',
      'dataplane/budgets/',
      'dataplane/call.ts',
      'dataplane/base/errors.ts',
      'dataplane/base/clock.ts',
      'dataplane/base/roster.ts',
      'dataplane/config/redis-url.ts',
    ],
  ],
  ['dataplane/', ['dataplane/', 'package.json']],
  [
    'crds/',
    [
      'crds/',
      'dataplane/config/',
      'dataplane/json/',
      'dataplane/providers/',
      'dataplane/strategies/',
    ],
  ],
  [
    'operator/',
    [
      'operator/',
      'crds/',
      'dataplane/config/',
      'dataplane/delivery/',
      'dataplane/json/',
      'package.json',
    ],
  ],
  ['charts/', ['charts/', 'operator/rbac.ts']],
  [
    'cli/',
    [
      'cli/',
      'crds/',
      'operator/kube/api.ts',
      'operator/kube/api-error.ts',
      'operator/kube/cluster.ts',
      'operator/compile/compile.ts',
      'operator/compile/compile-keys.ts',
      'operator/kube/objects.ts',
      'operator/workload/names.ts',
      'operator/workload/rolls.ts',
      'dataplane/admin/place.ts',
      'dataplane/config/',
      'dataplane/json/',
      'dataplane/main.ts',
      'dataplane/base/version.ts',
      'package.json',
    ],
  ],
]

/** Each outside package has one door, so that it can be replaced there. */
const DOORS: Readonly<Record<string, readonly string[]>> = {
  fastify: ['dataplane/listener/server.ts'],
  undici: ['dataplane/upstream/', 'operator/kube/transport.ts'],
  'prom-client': ['dataplane/telemetry/', 'operator/telemetry.ts'],
  'sonic-boom': ['dataplane/telemetry/line-sink.ts'],
  yaml: ['dataplane/config/', 'crds/generate.ts', 'charts/', 'operator/kube/kubeconfig.ts', 'cli/'],
  zod: ['dataplane/config/', 'dataplane/delivery/', 'crds/', 'cli/'],
  ioredis: ['dataplane/store/redis/redis-client.ts'],
  '@kubernetes/client-node': ['operator/kube/cluster.ts'],
  '@azure/identity': ['dataplane/providers/azure_openai/identity.ts'],
  commander: ['cli/'],
  'node:sqlite': ['dataplane/store/'],
}

const BANNED: readonly (readonly [pattern: RegExp, instead: string])[] = [
  [/\b(TODO|FIXME|XXX)\b/, 'finish it, or say in the docs that it is not there'],
  [/\bas any\b(?! )|[a-z]: any[,;)>\]]|Array<any>/, 'use unknown and narrow it'],
  [/@ts-(ignore|expect-error|nocheck)/, 'make the types say it'],
  [/\b(test|it|describe)\.(skip|todo|only)\b/, 'a test runs, or it is not there'],
  [/\bconsole\.(log|error|warn)\b/, 'write through telemetry/log.ts or cli/printing/output.ts'],
  [/export default\b/, 'export by name'],
  [/^\s*enum\s/m, 'use a union of literals'],
]

/** One kit reads values that have no type yet. */
const KIT = 'dataplane/json/values.ts'

/** What people are shown, or a bench that reports. */
const PRINTS = ['test/bench/', 'cli/quickstart/']

const DRAWERS = /^(utils?|helpers?|common|misc|types)\.ts$/

test('imports point one way', () => {
  for (const { path, text } of product) {
    const rule = IMPORTS.find(([from]) => path.startsWith(from))
    for (const target of importsOf(path, text)) {
      if (rule === undefined) continue
      const forbidden = rule[1].some(
        (may) => may.startsWith('!') && target.startsWith(may.slice(1)),
      )
      const allowed = rule[1].some((may) => target.startsWith(may))
      // Plugins' contract and stage types are what the layers meet in.
      const typesOnly = isTypeImport(text, target)
      assert.ok((allowed && !forbidden) || typesOnly, `${path} must not import ${target}`)
    }
  }
})

test('imports make no circle, type imports counted', () => {
  const graph = new Map(product.map(({ path, text }) => [path, importsOf(path, text)]))
  const advice = 'move what they share to a file that imports none of them'
  assert.deepEqual(circlesOf(graph), [], `they import each other; ${advice}`)
})

test('a circle is found whatever else imports its files', () => {
  const graph = new Map([
    ['main', ['a', 'leaf']],
    ['a', ['b']],
    ['b', ['leaf', 'c']],
    ['c', ['a']],
    ['leaf', []],
  ])
  assert.deepEqual(circlesOf(graph), [['a', 'b', 'c']])
})

test('an outside package is imported where its door is', () => {
  for (const { path, text } of product) {
    for (const [name, doors] of Object.entries(DOORS)) {
      const imports = new RegExp(
        `^import (?!type ).*from '${name}'|\\bimport\\('${name}'\\)`,
        'm',
      ).test(text)
      const open = doors.some((door) => path.startsWith(door))
      assert.ok(!imports || open, `${path} imports ${name}; only ${doors.join(', ')} may`)
    }
  }
})

test('a file fits the head', () => {
  for (const { path, text } of product) {
    const lines = text.split('\n').length
    assert.ok(
      lines <= LINES_MAX,
      `${path} has ${lines} lines; split it by noun (${LINES_MAX} is the end)`,
    )
    const long = text.split('\n').findIndex((line) => line.length > LINE_LENGTH_MAX)
    assert.equal(long, -1, `${path}:${long + 1} is longer than ${LINE_LENGTH_MAX} columns`)
  }
})

test('a folder holds what can be seen at a glance', () => {
  const folders = Map.groupBy(product, ({ path }) => dirname(path))
  for (const [folder, files] of folders) {
    const advice = `${files.length} source files; group them by duty (${FILES_MAX} is the end)`
    assert.ok(files.length <= FILES_MAX, `${folder} has ${advice}`)
  }
})

test('a file says first what it is for', () => {
  for (const { path, text } of product) {
    assert.match(text, /^(#!.*\n)?\/\*\*/, `${path} must begin with a sentence on what it is for`)
  }
})

test('no drawers, no banned words', () => {
  for (const { path, text } of code) {
    assert.doesNotMatch(basename(path), DRAWERS, `${path} is a drawer; name it by its noun`)
    if (path === 'test/tidy.test.ts') continue
    for (const [pattern, instead] of BANNED) {
      if (PRINTS.some((start) => path.startsWith(start)) && pattern.source.includes('console'))
        continue
      assert.doesNotMatch(text, pattern, `${path} has ${pattern}: ${instead}`)
    }
  }
})

test('texts are plain English', () => {
  const isText = /\.(ts|js|md|yaml|tpl|txt)$/
  for (const { path, text } of sources) {
    if (!isText.test(path) || !REWRITTEN.some((start) => path.startsWith(start))) continue
    for (const [index, line] of text.split('\n').entries()) {
      const found = clumsyPhrase(line)
      assert.equal(found, undefined, `${path}:${index + 1}: ${found}`)
    }
  }
})

test('every type of the glossary exists', () => {
  const glossary = readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8').split('## Glossary')[1] ?? ''
  const names = [...glossary.matchAll(/\| `(\w+)` \|$/gm)].map(([, name = '']) => name)
  assert.ok(names.length > 20, 'CONTRIBUTING.md has a glossary with a type in its last column')
  for (const name of names) {
    const declared = new RegExp(`^export (?:interface|type|class) ${name}\\b`, 'm')
    const exists = product.some(({ text }) => declared.test(text))
    assert.ok(exists, `no file declares ${name}; give the word of the glossary its new type`)
  }
})

test('a phrase that makes a reader stop is found, and plain sentences are not', () => {
  const clumsy = [
    '/** Who has no key leaves it out. */',
    '// It is said. What stands there is taken.',
    "fix: 'Of these one counts.',",
    ' * so that nobody asks',
    '- Whose turn it is waits.',
  ]
  const plain = [
    '/** What may it do? */',
    'what stands there',
    'The clients of a pod',
    "case 'told':",
    'const Of = 1',
  ]
  for (const line of clumsy) assert.notEqual(clumsyPhrase(line), undefined, line)
  for (const line of plain) assert.equal(clumsyPhrase(line), undefined, line)
})

test('values without a type are read by one kit', () => {
  const another =
    /\bfunction (isRecord|isObject|isMap)\(|=== null \|\| typeof \w+ !== 'object' \|\| Array/
  for (const { path, text } of product) {
    if (path !== KIT)
      assert.doesNotMatch(text, another, `${path} reads values its own way; take ${KIT}`)
  }
})

test('every plugin stands in its registry', () => {
  const registries: Readonly<Record<string, RegExp>> = {
    'dataplane/providers': /^export const \w+: Provider\b|^export const \w+ = openAiLike\(/m,
    'dataplane/strategies': /^export const \w+: Strategy\b/m,
    'dataplane/apis': /^export const \w+: Api\b/m,
    'cli/commands': /^export const \w+ = (?:endUsageWith64\(\s*)?new Command\(/m,
  }
  for (const [folder, plugin] of Object.entries(registries)) {
    const index = readFileSync(join(ROOT, folder, 'index.ts'), 'utf8')
    for (const { path, text } of product) {
      if (!path.startsWith(`${folder}/`) || path.endsWith('index.ts') || !plugin.test(text))
        continue
      const name = `./${relative(folder, path)}`
      assert.ok(index.includes(`'${name}'`), `${path} is not in ${folder}/index.ts; add its line`)
    }
  }
})

/** A provider's name as a quoted word or the beginning of one, as a property, or in an import from its folder. */
const NAMED = Object.values(PROVIDER_FACTS).map(({ name, aliases = [], spellings = [] }) => {
  const words = [name, ...aliases, ...spellings].join('|')
  const asWord = `['"\`](?:${words})(?=['"\`:_])`
  const asProperty = `(?<![\\w-])${name}\\??:|(?<=[\\w\\])!?])\\.${name}\\b`
  return { name, pattern: new RegExp(`${asWord}|${asProperty}|providers/${name}/`) }
})
/** Files that may name one, and why. */
const NAMES_PROVIDERS: Readonly<Record<string, string>> = {
  'cli/quickstart/instructions.ts': 'its examples import the npm package openai',
  'cli/simulator/models.ts': "the simulator reports its queue in vLLM's words",
}

test('a provider is named in its own folder and in the index of providers alone', () => {
  for (const { path, text } of product) {
    if (path === 'dataplane/providers/index.ts') continue
    const found = NAMED.filter(({ name }) => !path.startsWith(`dataplane/providers/${name}/`))
      .map(({ pattern }) => pattern.exec(text)?.[0])
      .find((one) => one !== undefined)
    if (path in NAMES_PROVIDERS) assert.ok(found, `${path} names no provider; take it off the list`)
    else assert.equal(found, undefined, `${path}: make it a fact of providers/facts-contract.ts`)
  }
})

test('what a request passes through writes no function at its assignment to a property', () => {
  const passed =
    /^dataplane\/(stages|streaming|upstream|apis|limits|budgets)\/|^dataplane\/(response|visit|pipeline)\.ts/
  const assigned =
    /^[^/*\n]*[\w\])]\.#?\w+ (?:\?\?)?= (?:async )?(?:function\b|\w+ =>|\([^()\n]*\) =>)/m
  for (const { path, text } of product) {
    if (!passed.test(path) || OLD_FUNCTIONS.includes(path)) continue
    const found = assigned.exec(text)?.[0].trim()
    assert.equal(
      found,
      undefined,
      `${path}: V8 makes it old, with all it sees; name it first: ${found}`,
    )
  }
})

/** Made once a process, not once a request. */
const OLD_FUNCTIONS = ['dataplane/upstream/target/targets.ts']

test('links of pages lead to files', () => {
  const front = { path: 'README.md', text: readFileSync(join(ROOT, 'README.md'), 'utf8') }
  for (const { path, text } of [front, ...sources]) {
    if (!path.endsWith('.md')) continue
    for (const [, link = ''] of text.matchAll(/\]\((?!https?:|#|mailto:)([^)\s#]+)[^)]*\)/g)) {
      assert.ok(existsSync(join(ROOT, path, '..', link)), `${path}: ${link} is not there`)
    }
  }
})

test('stages take values: a visit is known to pipeline.ts, visit.ts and the APIs alone', () => {
  for (const { path, text } of product) {
    if (/^dataplane\/(pipeline\.ts|visit\.ts|apis\/)/.test(path)) continue
    const isImported = /^import [^']*\bVisit\b[^']*'/m.test(text)
    assert.ok(
      !isImported,
      `${path} imports Visit; take what you need of it, and return what you learn`,
    )
  }
})

/** A comment that gives speed as its reason. */
const SPEED =
  /\bV8\b|hidden class|monomorphic|megamorphic|inlined|\b(?:faster|slower|cheaper|dearer) than\b|\bcosts? (?:less|more|half|twice|a \w+th)\b|copied at each new field/i
const COMMENT = /\/\*[\s\S]*?\*\/|(?:^[ \t]*\/\/.*\n)+/gm

test('a line that is written for speed names the benchmark that shows it', () => {
  for (const { path, text } of product) {
    for (const [comment] of text.matchAll(COMMENT)) {
      if (!SPEED.test(comment)) continue
      const file = /test\/bench\/micro\/[\w-]+\.ts/.exec(comment)?.[0]
      const advice = `${path}: name a file of test/bench/micro/ with what it printed, or write it plainly`
      assert.ok(file !== undefined && existsSync(join(ROOT, file)), `${advice}: ${comment.trim()}`)
    }
  }
})

test('a tier of tests imports its own folder, test/helpers and test/fixtures', () => {
  for (const { path, text } of code) {
    const [top, folder, ...below] = path.split('/')
    // What stands in test/ itself runs the tiers.
    if (top !== 'test' || folder === undefined || below.length === 0) continue
    const may = [`test/${folder}/`, 'test/helpers/', 'test/fixtures/']
    for (const target of importsOf(path, text)) {
      const isFree = !target.startsWith('test/') || may.some((start) => target.startsWith(start))
      assert.ok(isFree, `${path} imports ${target}; move what two tiers need into test/helpers`)
    }
  }
})

function walk(folder: string): Source[] {
  const start = join(ROOT, folder)
  if (!statSync(start, { throwIfNoEntry: false })?.isDirectory()) return []
  return readdirSync(start, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => statSync(join(ROOT, path)).isFile() && !path.includes('/build/'))
    .map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }))
}

function importsOf(path: string, text: string): string[] {
  const found = text.matchAll(/(?:from|import)\s*\(?'(\.[^']+)'/g)
  return [...found].map(([, target = '']) => join(path, '..', target))
}

function isTypeImport(text: string, target: string): boolean {
  const name = basename(target).replaceAll('.', '\\.')
  const statements = [...text.matchAll(new RegExp(`^import[^']*'[^']*/${name}'`, 'gm'))]
  return (
    statements.length > 0 &&
    statements.every(([statement]) =>
      /^import type\b|^import \{(\s*type \w+,?)+\s*\}/.test(statement),
    )
  )
}
