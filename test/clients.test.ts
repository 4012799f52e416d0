/** The page of tried clients is as new as the clients that are pinned. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { leading, shownRows } from './clients/page.ts'
import { ROWS } from './clients/rows.ts'

test('each pinned client stands on the page at its version; else run make test-clients', () => {
  const shown = shownRows()
  assert.deepEqual(
    shown.map((row) => row.slice(0, 3)),
    ROWS.map(leading),
  )
})
