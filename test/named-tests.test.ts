/** The pages on the tests' proofs name existing tests. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'

/** Page and the number of its rows. */
const PAGES = { 'client-apis.md': 62, 'observability.md': 40, 'platform.md': 40 } as const

const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8')

for (const [page, rows] of Object.entries(PAGES)) {
  test(`every test that ${page} names exists, and each of its ${rows} rows names one or says that it is not built`, () => {
    const text = read(page)
    const lines = text.split('\n').filter((line) => /^\| \d+ \|/.test(line))
    assert.deepEqual(
      lines.map((line) => Number(/\d+/.exec(line)?.[0])),
      Array.from({ length: rows }, (_, index) => index + 1),
    )
    for (const line of lines) {
      const named = [...line.matchAll(/(?:\| |<br>)`([\w/-]+)` (.+?)(?=<br>| \|)/g)]
      assert.ok(named.length > 0 || line.includes('| not built: '), line)
      for (const [, file, title = ''] of named)
        assert.ok(read(`${file}.test.ts`).includes(title), `${file}: ${title}`)
    }
  })
}
