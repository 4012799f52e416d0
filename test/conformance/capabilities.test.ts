/** The table of capabilities matches the providers. `GW_WRITE=1` writes it. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { capabilityTable } from './capabilities.ts'

const PAGE = new URL('../../dataplane/providers/README.md', import.meta.url)
const TABLE = /(<!-- generated: capabilities -->\n\n)[\s\S]*?(\n\n<!-- end -->)/

test('the table in the README of the providers matches them; otherwise run it with GW_WRITE=1', (context) => {
  const page = readFileSync(PAGE, 'utf8')
  const fresh = page.replace(TABLE, (_, before, after) => before + capabilityTable() + after)
  if (process.env.GW_WRITE === '1') writeFileSync(PAGE, fresh)
  // A person who runs the tests reads it there.
  for (const line of capabilityTable().split('\n')) context.diagnostic(line)
  assert.equal(readFileSync(PAGE, 'utf8'), fresh)
})
