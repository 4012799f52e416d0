/** The facts about Claude models, by their names. An unknown model has the facts of the newest. */
import type { ModelRow } from '../../wire/models/capabilities.ts'
import type { Cacheable } from '../../wire/provider-facts.ts'

const checked = '2026-11-26'
const OVERVIEW = 'https://platform.claude.com/docs/en/models/overview'
const AI_SDK = 'npm @ai-sdk/anthropic 3.0.140, getModelCapabilities'
const PRICES = 'PyPI litellm 1.110.2, model_prices_and_context_window'

const MILLION = 1_000_000
/** Models without the member for the effort. */
const EFFORTLESS = { efforts: [] } as const
const TO_MAX = ['low', 'medium', 'high', 'xhigh', 'max'] as const
const NEWEST = {
  thinking: 'adaptive',
  sampling: false,
  summary: true,
  efforts: TO_MAX,
  outputTokens: 128_000,
  contextWindow: MILLION,
} as const

export const CLAUDES: readonly ModelRow[] = [
  { of: /^claude-/, isClaude: true, checked, source: OVERVIEW },
  {
    of: /^claude-(?:instant|v?2|3-|(?:opus|sonnet|haiku)-4(?:-[0-6])?$)/,
    sampling: true,
    checked,
    source: AI_SDK,
  },
  { of: /claude-3-5-sonnet-20240620/, outputTokens: 4_096, checked, source: PRICES },
  {
    of: /^claude-3-5-/,
    reasons: false,
    outputTokens: 8_192,
    contextWindow: 200_000,
    checked,
    source: PRICES,
  },
  {
    of: /^claude-3-(?:opus|sonnet|haiku)/,
    reasons: false,
    outputTokens: 4_096,
    contextWindow: 200_000,
    checked,
    source: PRICES,
  },
  { of: /^claude-(?:instant|v?2)/, reasons: false, outputTokens: 4_096, checked, source: AI_SDK },
  {
    of: /^claude-opus-4(?:-[01])?$/,
    ...EFFORTLESS,
    thinking: 'budget',
    outputTokens: 32_000,
    contextWindow: 200_000,
    checked,
    source: PRICES,
  },
  {
    of: /^claude-opus-4-5$/,
    efforts: ['low', 'medium', 'high'],
    thinking: 'budget',
    outputTokens: 64_000,
    contextWindow: 200_000,
    checked,
    source: 'https://platform.claude.com/docs/en/about-claude/models/whats-new-claude-4-5',
  },
  {
    of: /^claude-(?:3-7-sonnet|sonnet-4(?:-[05])?|haiku-4-5)$/,
    ...EFFORTLESS,
    thinking: 'budget',
    outputTokens: 64_000,
    contextWindow: 200_000,
    checked,
    source: 'https://platform.claude.com/docs/en/models/sonnet-4-5/overview',
  },
  {
    of: /^claude-(?:opus|sonnet)-4-6$/,
    efforts: ['low', 'medium', 'high', 'max'],
    thinking: 'adaptive',
    budgets: true,
    summary: false,
    thinkingOff: 'disabled',
    outputTokens: 128_000,
    contextWindow: MILLION,
    checked,
    source: 'https://platform.claude.com/docs/en/models/sonnet-4-6/overview',
  },
  // Amazon says that 4.7 refuses `disabled`; both models think only on request.
  {
    of: /^claude-opus-4-[78]$/,
    ...NEWEST,
    thinkingOff: 'unsaid',
    checked,
    source: 'https://platform.claude.com/docs/en/build-with-claude/thinking',
  },
  {
    of: /^claude-(?:opus-5|sonnet-5|haiku-5-5)$/,
    ...NEWEST,
    thinkingOff: 'disabled',
    checked,
    source: 'https://platform.claude.com/docs/en/models/opus-5/migration-guide',
  },
  {
    of: /^claude-sonnet-5-5$/,
    ...NEWEST,
    thinkingOff: 'between_tools',
    checked,
    source: 'https://platform.claude.com/docs/en/models/sonnet-5-5/whats-new-sonnet-5-5',
  },
  {
    of: /^claude-(?:opus-5-5|fable-|mythos-)/,
    ...NEWEST,
    thinkingOff: 'never',
    checked,
    source: 'https://platform.claude.com/docs/en/models/fable-5/migration-guide',
  },
]

/** The smallest prompt that a cache keeps, for a model that is not in the list: the largest known minimum. */
const UNKNOWN_CACHE: Cacheable = { from: 4_096 }

/**
 * The first matching row. All rows: 2026-11-26,
 * https://platform.claude.com/docs/en/build-with-claude/prompt-caching#cache-limitations, which applies to every
 * platform; the third generation follows an earlier version of that page.
 */
const CACHED_FROM: readonly (readonly [of: RegExp, size: Cacheable | undefined])[] = [
  [/^claude-(?:instant|2)/, undefined],
  [/^claude-(?:3-haiku|3-5-haiku)/, { from: 2_048 }],
  [/^claude-3-/, { from: 1_024 }],
  [/^claude-(?:opus|fable|mythos)-5/, { from: 512 }],
  [/^claude-sonnet-(?:4|5)(?:-|$)/, { from: 1_024 }],
  [/^claude-opus-4(?:-[018])?(?:-20\d{6}|-latest|$)/, { from: 1_024 }],
  [/^claude-(?:opus-4-7|mythos-preview)/, { from: 2_048 }],
  [/^claude-(?:opus-4-[56]|haiku-4-5)/, { from: 4_096 }],
  [/^/, UNKNOWN_CACHE],
]

/** undefined for a model without a cache. */
export function cacheable(model: string): Cacheable | undefined {
  return CACHED_FROM.find(([of]) => of.test(model))?.[1]
}
