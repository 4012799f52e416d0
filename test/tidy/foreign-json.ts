/**
 * JSON from outside is parsed in one place, because the runtime's parser mistakes names. Run this file to list the files
 * that read such JSON: `node test/tidy/foreign-json.ts`.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { product, ROOT, type Source, sources } from './sources.ts'

/** Files that may call the runtime's parser, and why. */
const PARSES: Readonly<Record<string, string>> = {
  'dataplane/json/parse.ts': 'it is the place',
  'dataplane/console/page/answers.js': "a browser reads this gateway's own answers with it",
  'dataplane/console/page/connection.js': "a browser reads this gateway's own events with it",
  'dataplane/console/page/play.js': "a browser shows this gateway's answer with it",
  'charts/gw/files/request.js': 'its process asks one question, reads one answer and ends',
}
/**
 * Packages that parse JSON by themselves, and why a name that is read as one with a backslash does no harm; for those
 * that parse none of others, an empty text.
 */
const PACKAGES: Readonly<Record<string, string>> = {
  '@aws-sdk/credential-provider-node':
    'it reads credentials of AWS, whose names are known ASCII words',
  '@azure/identity': 'it reads tokens of Entra, whose names are known ASCII words',
  '@huggingface/tokenizers': '',
  '@kubernetes/client-node':
    'it reads kubeconfigs and what their programs print; answers are read by operator/kube',
  '@qdrant/js-client-rest': 'it is given names written out (vector-stores/store-answer.ts)',
  chromadb:
    'it is given what JSON.stringify made of a tree of ours (vector-stores/store-answer.ts)',
  commander: '',
  fastify: 'its parsers are removed; bodies of the admin API come as text (listener/server.ts)',
  'google-auth-library': 'it reads tokens of Google, whose names are known ASCII words',
  'gpt-tokenizer': '',
  ioredis: '',
  jose: 'header and judged claims are compared with what we read (identity/issuer.ts)',
  pg: 'its parsers are off (vector-stores/pgvector.ts)',
  'prom-client': '',
  'sonic-boom': '',
  undici: 'answers come as bytes',
  wasmoon: '',
  yaml: '',
  zod: '',
}

const CALLS =
  /\bJSON\s*(?:\?\.|\.|\[)\s*['"`]?parse\b|=\s*JSON\b(?!\s*[.[])|\.json\(|\b(?:decodeJwt|decodeProtectedHeader|secure-json-parse)\b/
const COMMENTS = /\/\*[\s\S]*?\*\/|(?<![:'"])\/\/.*$/gm
const scripts = sources.filter(({ path }) => /\.[cm]?js$/.test(path) && !path.startsWith('test/'))

function callIn(text: string): string | undefined {
  return CALLS.exec(text.replace(COMMENTS, ''))?.[0]
}

test("the runtime's parser is called in dataplane/json/parse.ts alone", () => {
  for (const { path, text } of [...product, ...scripts]) {
    const found = callIn(text)
    if (path in PARSES) assert.ok(found, `${path} parses no more; take it off the list`)
    else
      assert.equal(found, undefined, `${path}: call parseJson of dataplane/json/parse.ts instead`)
  }
})

test('for each package there is a word on how it parses JSON', () => {
  const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const advice = 'say in PACKAGES how it parses JSON of others'
  assert.deepEqual(Object.keys(PACKAGES), Object.keys(manifest.dependencies), advice)
})

test('a call of the parser is found, in each spelling, and a word about it is not', () => {
  const calls = [
    'const tree = JSON.parse(text)',
    'texts.map(JSON.parse)',
    "JSON['parse'](text)",
    'const { parse } = JSON\n',
    'await answer.json()',
    "import { decodeJwt } from 'jose'",
  ]
  const words = [
    '/** As JSON.parse would. */',
    'f() // JSON.parse is wrong',
    'JSON.stringify(tree)',
  ]
  for (const text of calls) assert.notEqual(callIn(text), undefined, text)
  for (const text of words) assert.equal(callIn(text), undefined, text)
})

/** The files that read JSON of others. */
function readers(): Source[] {
  const reads =
    /^import \{[^}]*\b(?:parseJson|withPlainNames|parsed)\b[^}]*\} from '[^']*\/(?:parse|values)\.ts'/m
  return product.filter(({ text }) => reads.test(text))
}

if (import.meta.main) {
  for (const { path, text } of readers()) {
    const [, duty = ''] = /^(?:#!.*\n)?\/\*\*[\s*]*([^\n]*)/.exec(text) ?? []
    process.stdout.write(`${path.padEnd(64)} ${duty.replace(/ \*\/$/, '')}\n`)
  }
}
