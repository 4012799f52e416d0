/** The line that a long run of tests prints. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Progress } from './helpers/runner/progress.ts'

test('it names what is done, what runs and for how long, and what is left on a machine that is twice as slow', () => {
  let now = 0
  const known = { 'test/a.test.ts': 30, 'test/b.test.ts': 60, 'test/c.test.ts': 120 }
  const progress = new Progress(known, () => now)
  const hear = (type: string, name: string) =>
    progress.hear({ type: `test:${type}`, data: { name } })
  for (const name of Object.keys(known)) hear('enqueue', name)
  hear('dequeue', 'test/a.test.ts')
  progress.hear({ type: 'test:dequeue', data: { name: 'a test', entryFile: 'test/a.test.ts' } })
  now = 60
  hear('complete', 'test/a.test.ts')
  hear('dequeue', 'test/b.test.ts')
  assert.equal(progress.line(), '1 of 3 files after 1.0 min, about 6 min left; running: b 0 s')
  now = 180
  hear('complete', 'test/b.test.ts')
  hear('dequeue', 'test/c.test.ts')
  now = 190
  assert.equal(progress.line(), '2 of 3 files after 3.2 min, about 4 min left; running: c 10 s')
})
