/** The facts about Mistral's models, by their names. */
import type { ModelRow } from '../../wire/models/capabilities.ts'

const checked = '2026-11-26'
const PRICES = 'PyPI litellm 1.110.2, model_prices_and_context_window'
const MODELS_PAGE = 'https://docs.mistral.ai/getting-started/models'
/** The day of rows that no newer document confirms. */
const BEFORE = '2026-11-22'

export const MODELS: readonly ModelRow[] = [
  { of: /^mistral-large-4/, contextWindow: 1_048_576, checked, source: PRICES },
  {
    of: /^mistral-(?:small-(?:2603|4)|medium-(?:2604|3[.-]5)|large-4)/,
    efforts: ['none', 'high'],
    contextWindow: 262_144,
    checked,
    source: 'https://github.com/pydantic/pydantic-ai/issues/5285',
  },
  {
    of: /^(?:mistral-(?:large-(?:2[0-5]|3)|medium-2505|small-25)|ministral-|codestral-|open-mistral-|pixtral-|voxtral-)/,
    reasons: false,
    checked,
    source: PRICES,
  },
  {
    of: /^(?:mistral-large-(?:2512|3)|mistral-medium-3|ministral-(?:3-)?(?:8b|14b)-2512)$/,
    contextWindow: 262_144,
    checked,
    source: PRICES,
  },
  {
    of: /^(?:ministral-(?:3-)?3b-2512|ministral-[38]b-2410)$/,
    contextWindow: 131_072,
    checked,
    source: PRICES,
  },
  { of: /^codestral-2508$/, contextWindow: 128_000, checked, source: PRICES },
  { of: /^codestral-2501$/, contextWindow: 262_144, checked: BEFORE, source: MODELS_PAGE },
  { of: /^mistral-small-2501$/, contextWindow: 32_768, checked: BEFORE, source: MODELS_PAGE },
  {
    of: /^(?:mistral-(?:large-24(?:07|11)|medium-250[58]|small-250[36])|open-mistral-nemo|pixtral-(?:12b|large)-24\d\d)$/,
    contextWindow: 131_072,
    checked: BEFORE,
    source: MODELS_PAGE,
  },
]
