/** The page on what the tests of the client APIs prove names tests that are there. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'

const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8')

test('every test that the page names is there', () => {
  const page = read('client-apis.md')
  const named = [...page.matchAll(/(?:\| |<br>)`([\w/-]+)` (.+?)(?=<br>| \|)/g)]
  assert.ok(named.length > 62)
  for (const [, file, title = ''] of named)
    assert.ok(read(`${file}.test.ts`).includes(title), `${file}: ${title}`)
})
