/** Refusals by servers with OpenAI's wire, and the facts about the model that they show. */
import { EFFORTS } from '../../../wire/models/capabilities.ts'
import {
  EFFORTLESS,
  type LessonRule,
  largestLimit,
  longestId,
  longestName,
  refusedMember,
} from '../../failures/lessons.ts'

const REFUSED =
  '(?:unsupported|not supported|unrecognized|unknown|unexpected|not permitted|does not support|extra)'
const OF_EFFORT = /reasoning[._]?effort/i
const OF_MESSAGE = /messages?\b/i

/** At OpenAI and Azure OpenAI, whose models may require another API. */
export const RESPONSES_LESSONS: readonly LessonRule[] = [
  {
    says: /only supported in v1\/responses|not (?:a chat model|supported in the v1\/chat\/completions)/i,
    teaches: { responses: 'always' },
  },
  { says: /use \/v1\/responses/i, teaches: { responses: 'with_tools' } },
]

/** The first match applies, so special rows come before general ones. */
export const LESSONS: readonly LessonRule[] = [
  {
    says: /reasoning_content\b.*must be passed back/i,
    teaches: { thinkingMember: 'reasoning_content' },
  },
  {
    says: new RegExp(String.raw`reasoning(?:_content)?\b.*${REFUSED}`, 'i'),
    param: OF_MESSAGE,
    teaches: { thinkingMember: 'none' },
  },
  {
    says: /supported values are:? ([\w', ]+)/i,
    param: OF_EFFORT,
    teaches([, values = '']) {
      const efforts = EFFORTS.filter((effort) => new RegExp(`\\b${effort}\\b`).test(values))
      return efforts.length > 0 ? { efforts } : EFFORTLESS
    },
  },
  { says: new RegExp(REFUSED, 'i'), param: OF_EFFORT, teaches: EFFORTLESS },
  {
    says: /max_tokens\b.*(?:not supported|unsupported).*\bmax_completion_tokens/i,
    teaches: { limitMember: 'max_completion_tokens' },
  },
  {
    says: /max_(?:completion_)?tokens\b.*(?:at most|maximum (?:value )?(?:of|is)|less than or equal to) (\d+)/i,
    teaches: ([, most]) => largestLimit(most),
  },
  {
    says: new RegExp(
      String.raw`${REFUSED}.*\bmax_completion_tokens|max_completion_tokens\b.*${REFUSED}`,
      'i',
    ),
    teaches: { limitMember: 'max_tokens' },
  },
  {
    says: /(?:tool_call_id|call_id|tool_calls\[\d+\]\.id|\bid')\D.*maximum length (\d+)/i,
    teaches: ([, length]) => longestId(length),
  },
  {
    says: /\bname\b.*(?:maximum length|at most|exceed(?:s|ing)?|no longer than) (\d+)/i,
    teaches: ([, length]) => longestName(length),
  },
  { says: new RegExp(String.raw`cache_control\b.*${REFUSED}`, 'i'), teaches: { marks: false } },
  {
    says: /(?:unsupported|unrecognized|unknown|does not support)[^'":]*(?:parameter|value|argument|field)[^'":]*[:'" ]+(\w+)/i,
    teaches: refusedMember,
  },
  {
    says: /^(?:body\W+)?['"\x60]?(\w+)['"\x60]?:? .*(?:not permitted|not supported|deprecated)/i,
    teaches: refusedMember,
  },
]
