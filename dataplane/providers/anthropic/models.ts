/** The facts about Claudes, by their names; those that are not known are taken for the newest. */
import type { ModelRow } from '../../wire/models/capabilities.ts'

const checked = '2026-11-26'
const OVERVIEW = 'https://platform.claude.com/docs/en/models/overview'
const AI_SDK = 'npm @ai-sdk/anthropic 3.0.140, getModelCapabilities'
const PRICES = 'PyPI litellm 1.110.2, model_prices_and_context_window'

const MILLION = 1_000_000
/** Models without the member that says an effort. */
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
  // Amazon says that 4.7 refuses `disabled`; both think only if asked.
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
