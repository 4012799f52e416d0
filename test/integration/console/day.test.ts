/** A day of work that uses only the console. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startBrowser } from '../../helpers/console/browser.ts'
import { walkDay } from '../../helpers/console/day.ts'

test('the console shows a new team, its first call, a 429, a 402, an outage and the bill', async (t) => {
  const browser = await startBrowser()
  t.after(() => browser.close())
  const hours: string[] = []
  await walkDay(browser, async (hour) => void hours.push(hour))
  assert.equal(hours.length, 9)
})
