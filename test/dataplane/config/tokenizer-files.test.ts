/** The tokenizer files of a configuration: found, read, and resolved relative to it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { showPath } from '../../../dataplane/config/judgement/problems.ts'
import {
  placeTokenizerFiles,
  readTokenizerFiles,
  tokenizerFilesOf,
} from '../../../dataplane/config/tokenizer-files.ts'
import type { Section } from '../../../dataplane/schema/index.ts'

const section = (...files: (string | undefined)[]) =>
  ({
    upstreams: files.map((file) => ({
      name: 'a',
      tokenizer: file === undefined ? file : { file },
    })),
  }) as unknown as Section

function readText(path: string): string {
  if (path === '/good.json') return '{"version": "1.0", "model": {}}'
  if (path === '/other.json') return '{"model_type": "llama"}'
  throw Object.assign(new Error('it is not there'), { code: 'ENOENT' })
}

test('a file that can be used is accepted', () => {
  assert.deepEqual(readTokenizerFiles(section('/good.json', undefined), readText), [])
})

test('a file that is missing, or is another one, is refused by its field', () => {
  const found = readTokenizerFiles(section('/good.json', '/gone.json', '/other.json'), readText)
  assert.deepEqual(
    found.map(({ path, message }) => `${showPath(path)}: ${message}`),
    [
      'gw.upstreams[1].tokenizer.file: /gone.json cannot be read (ENOENT)',
      'gw.upstreams[2].tokenizer.file: /other.json is no tokenizer.json',
    ],
  )
})

test('each file is listed once, and relative ones are relative to the configuration', () => {
  const placed = placeTokenizerFiles(
    section('a.json', 'a.json', undefined),
    (path) => `/etc/${path}`,
  )
  assert.deepEqual(tokenizerFilesOf(placed), ['/etc/a.json'])
})
