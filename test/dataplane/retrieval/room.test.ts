/**
 * Passages fit into the room of a window: those with the lowest scores are removed first, and marks around them count.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Passage } from '../../../dataplane/retrieval/passages.ts'
import { fitted, roomFor } from '../../../dataplane/retrieval/room.ts'
import type { Target } from '../../../dataplane/upstream/live/targets.ts'
import { aRequest } from '../../helpers/providers/a-request.ts'

const MARKS = 5

function passages(...sizes: readonly (readonly [score: number, tokens: number])[]): Passage[] {
  return sizes.map(([score, tokens], index) => ({
    store: 'docs',
    id: `${index}`,
    score,
    text: `text-${index}`,
    source: undefined,
    tokens,
    kept: true,
    reason: undefined,
  }))
}

/** Counts each passage in the message with marks around it. */
function counting(all: readonly Passage[]) {
  return async (content: string) =>
    all
      .filter(({ text }) => content.includes(text))
      .reduce((sum, { tokens }) => sum + tokens + MARKS, MARKS)
}

const CASES = [
  [
    'all fit',
    1_000,
    [
      [0.9, 10],
      [0.5, 20],
    ],
    ['0', '1'],
  ],
  [
    'the lowest score goes first',
    40,
    [
      [0.5, 20],
      [0.9, 20],
    ],
    ['1'],
  ],
  [
    'the marks around passages count',
    45,
    [
      [0.9, 20],
      [0.8, 20],
    ],
    ['0'],
  ],
  [
    'one that is too long alone is removed, with any score',
    40,
    [
      [0.9, 100],
      [0.1, 20],
    ],
    ['1'],
  ],
  [
    'there is room for none',
    4,
    [
      [0.9, 1],
      [0.8, 1],
    ],
    [],
  ],
  [
    'passages without tokens need room for their marks',
    9,
    [
      [0.9, 0],
      [0.8, 0],
    ],
    [],
  ],
  ['the window is not known', Number.POSITIVE_INFINITY, [[0.9, 1_000_000]], ['0']],
] as const

for (const [name, left, sizes, kept] of CASES) {
  test(name, async () => {
    const all = passages(...sizes)
    const made = await fitted(all, left, counting(all))
    assert.deepEqual(
      all.filter((one) => one.kept).map(({ id }) => id),
      kept,
    )
    assert.ok(all.every((one) => one.kept || one.reason === 'context_window'))
    assert.equal(made === undefined, kept.length === 0)
    assert.ok((made?.tokens ?? 0) <= left)
  })
}

const target = (contextWindow: number | undefined, tokens: number) =>
  ({
    contextWindow,
    counter: { by: 'test', count: () => ({ tokens, exact: true }) },
  }) as unknown as Target

test('the room is the rest of the largest window after prompt and answer', async () => {
  const small = target(500, 100)
  const large = target(1_000, 120)
  const { left, context, holds } = await roomFor(aRequest(), [small, large], {
    needed: 50,
    reserved: 300,
  })
  assert.equal(left, 1_000 - 300 - 120)
  assert.deepEqual(context, { window: 1_000, reserved: 300, prompt: 120, exact: true, room: 580 })
  assert.ok(holds(small, 350) && !holds(small, 351))
})

test('a limit of the answer above the reserve counts, and an unknown window is endless', async () => {
  const asked = { needed: 400, reserved: 300 }
  assert.equal((await roomFor(aRequest(), [target(1_000, 120)], asked)).left, 480)
  const { left, context } = await roomFor(aRequest(), [target(undefined, 120)], asked)
  assert.equal(left, Number.POSITIVE_INFINITY)
  assert.equal(context.window, null)
})
