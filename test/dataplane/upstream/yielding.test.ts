/** Low priority leaves room to others at an upstream with a limit of requests in flight. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { yieldingPlaces } from '../../../dataplane/upstream/live/targets.ts'

test('low priority may fill three quarters of the places, and at least one', () => {
  const rows = [
    [1, 1],
    [2, 1],
    [3, 2],
    [4, 3],
    [50, 37],
    [100, 75],
    [1_000_000, 750_000],
  ] as const
  for (const [places, expected] of rows) assert.equal(yieldingPlaces(places), expected)
})
