import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { MemoryStore } from '../../../dataplane/store/memory/memory.ts'
import { cases } from '../../helpers/cases.ts'
import { aClock } from '../../helpers/clock.ts'
import { ANSWERS, compare, history } from '../../helpers/store/histories.ts'

test('over random histories every answer equals that of the full history', async () => {
  const reached = new Set<string>()
  await fc.assert(
    fc.asyncProperty(history, async (sequence) => {
      const clock = aClock(sequence.start)
      const answers = await compare(sequence, new MemoryStore({ clock }), clock)
      for (const answer of answers) reached.add(answer)
    }),
    { numRuns: cases(2000, 100_000) },
  )
  assert.deepEqual([...reached].toSorted(), ANSWERS)
})
