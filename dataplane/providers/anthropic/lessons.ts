/** Refusals by Claude models, and the facts that they show. Bedrock sends the same words. */
import type { Failure } from '../../wire/failure.ts'
import {
  EFFORTLESS,
  type LessonRule,
  largestLimit,
  longestId,
  longestName,
  withLesson,
} from '../failures/lessons.ts'

/** Another account or model family signed the thinking. The request succeeds without it. */
const FOREIGN = /invalid `?signature`? in `?thinking`? block/i

export const LESSONS: readonly LessonRule[] = [
  {
    says: /thinking\.type\.enabled"? is not supported/,
    teaches: { thinking: 'adaptive', budgets: false, summary: true },
  },
  {
    says: /thinking\.type\.disabled"? is not supported/,
    teaches: (_found, { message }) => ({
      thinkingOff: message.includes('between_tools') ? 'between_tools' : 'never',
    }),
  },
  {
    says: /thinking\.type\.adaptive"? is not supported|adaptive thinking is not supported|tag 'adaptive'/i,
    teaches: { thinking: 'budget' },
  },
  {
    says: /does not support the effort parameter|output_config\.effort\b.*not permitted/,
    teaches: { efforts: [] },
  },
  {
    says: /does not support (?:extended )?thinking|thinking is not supported/i,
    teaches: EFFORTLESS,
  },
  {
    says: /`?(?:temperature|top_p|top_k)`? (?:is deprecated|is not supported|may only be set)/,
    teaches: { sampling: false, refused: ['temperature', 'top_p', 'top_k'] },
  },
  {
    says: /max_tokens: \d+ > (\d+)|exceeds the model limit of (\d+)/,
    teaches: ([, one, other]) => largestLimit(one ?? other),
  },
  {
    says: /\bname\b.*(?:at most|less than or equal to) (\d+)/,
    teaches: ([, length]) => longestName(length),
  },
  {
    says: /\b(?:tool_use_id|toolUseId|tool_use\.id)\b.*(?:at most|less than or equal to) (\d+)/,
    teaches: ([, length]) => longestId(length),
  },
  {
    says: /cache_control: Extra inputs are not permitted|extraneous key \[cachePoint\]|did not allow prompt caching/,
    teaches: { marks: false },
  },
]

export function withWorkaround(failure: Failure): Failure {
  const isForeign = failure.class === 'client' && FOREIGN.test(failure.message)
  return isForeign ? { ...failure, workaround: 'unsealed' } : withLesson(failure, LESSONS)
}
