/** Refusals by Gemini models, and the facts that they show. */
import { EFFORTLESS, type LessonRule, largestLimit } from '../failures/lessons.ts'

export const LESSONS: readonly LessonRule[] = [
  { says: /thinking level (?:is )?not supported/i, teaches: { thinking: 'budget' } },
  {
    says: /thinking level (\w+) is not supported/i,
    teaches: { efforts: ['low', 'medium', 'high'] },
  },
  {
    says: /only works in thinking mode|thinking can't be disabled/i,
    teaches: { thinkingOff: 'never' },
  },
  { says: /thinking budget is not supported/i, teaches: { thinking: 'effort' } },
  { says: /does not support thinking|thinking is not (?:supported|enabled)/i, teaches: EFFORTLESS },
  {
    says: /max_?output_?tokens.*supported range is from 1 \(inclusive\) to (\d+) \(exclusive\)/i,
    teaches: ([, end]) => largestLimit(Number(end) - 1),
  },
]
