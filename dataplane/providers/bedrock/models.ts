/** The facts about models of Amazon Bedrock, by their names after the maker's. */
import type { ModelRow } from '../../wire/models/capabilities.ts'
import type { Cacheable } from '../../wire/provider-facts.ts'
import { CLAUDES, cacheable as ofClaude } from '../anthropic/models.ts'
import { namedIn } from './model-name.ts'

const checked = '2026-11-26'
/** The day of rows that no newer document confirms. */
const BEFORE = '2026-11-22'
const PRICES = 'PyPI litellm 1.110.2, model_prices_and_context_window'
const CACHING = 'https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html'
/** Bedrock's error texts for other models, as reported. */
const UNCACHED = 'https://github.com/maximhq/bifrost/issues/3151'
const EMBEDDINGS =
  'https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-embed.html'
const TITAN =
  'https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-titan-embed-text.html'

const THREE = ['low', 'medium', 'high'] as const

export const MODELS: readonly ModelRow[] = [
  ...CLAUDES,
  { of: /^nova-/, marks: true, checked: BEFORE, source: CACHING },
  {
    of: /^nova-2/,
    thinking: 'effort',
    efforts: THREE,
    checked: BEFORE,
    source: 'https://docs.aws.amazon.com/nova/latest/nova2-userguide/extended-thinking.html',
  },
  {
    of: /^gpt-oss/,
    thinking: 'effort',
    efforts: THREE,
    contextWindow: 128_000,
    checked,
    source: PRICES,
  },
  {
    of: /^(?:gpt-|llama|qwen|kimi|deepseek|glm|minimax|mistral|magistral|ministral|devstral|nemotron|gemma|palmyra|grok)/,
    marks: false,
    checked,
    source: UNCACHED,
  },
  { of: /^nova-micro$/, contextWindow: 128_000, checked, source: PRICES },
  { of: /^nova-(?:lite|pro)$/, contextWindow: 300_000, checked, source: PRICES },
  { of: /^nova-(?:premier|2-lite|2-pro)/, contextWindow: 1_000_000, checked, source: PRICES },
  { of: /^llama3-[13]-\d+b-instruct$/, contextWindow: 128_000, checked, source: PRICES },
  { of: /^llama4-maverick/, contextWindow: 1_000_000, checked, source: PRICES },
  {
    of: /(?:^|\.)cohere\.embed-v4/,
    vectors: 'purpose',
    sizesVectors: true,
    checked: BEFORE,
    source: EMBEDDINGS,
  },
  {
    of: /(?:^|\.)cohere\.embed-/,
    vectors: 'purpose',
    sizesVectors: false,
    checked: BEFORE,
    source: EMBEDDINGS,
  },
  { of: /titan-embed-text-v1/, sizesVectors: false, checked: BEFORE, source: TITAN },
]

/** 2026-11-26, https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html. */
const OLD_CLAUDE = /^claude-(?:instant|3-(?:opus|sonnet|haiku|5-sonnet))/
const NOVA = /^nova-(?:micro|lite|pro|premier)$/
const OF_NOVA: Cacheable = { from: 1_000, to: 20_000 }

/** undefined for a model without marks, and for one whose name does not identify it. */
export function cacheable(model: string): Cacheable | undefined {
  const { name } = namedIn(model)
  if (name.startsWith('claude-')) return OLD_CLAUDE.test(name) ? undefined : ofClaude(name)
  return NOVA.test(name) ? OF_NOVA : undefined
}
