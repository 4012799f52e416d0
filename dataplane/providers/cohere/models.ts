/** The facts about Cohere's models, by their names. The gateway assumes that an unknown model reasons. */
import type { ModelRow } from '../../wire/models/capabilities.ts'

const checked = '2026-11-26'
const PRICES = 'PyPI litellm 1.110.2, model_prices_and_context_window'
const MODELS_PAGE = 'https://docs.cohere.com/docs/models'
/** The day of rows that no newer document confirms. */
const BEFORE = '2026-11-22'

export const MODELS: readonly ModelRow[] = [
  // These models refuse requests for thinking.
  {
    of: /^c4ai-|^command-(?:a-(?:03|vision|translate)|light|nightly|r(?:7b|-|$))|^command$/,
    reasons: false,
    checked: BEFORE,
    source: 'https://docs.cohere.com/docs/reasoning',
  },
  { of: /^c4ai-aya-expanse-8b$/, contextWindow: 8_000, checked: BEFORE, source: MODELS_PAGE },
  { of: /^c4ai-aya-expanse-32b$/, contextWindow: 128_000, checked, source: PRICES },
  { of: /^command-a-03-2025$/, contextWindow: 256_000, checked, source: PRICES },
  {
    of: /^command-a-reasoning-08-2025$/,
    contextWindow: 256_000,
    outputTokens: 32_000,
    checked,
    source: 'https://docs.cohere.com/docs/command-a-reasoning',
  },
  { of: /^command-a-vision-07-2025$/, contextWindow: 128_000, checked, source: PRICES },
  {
    of: /^command-a-plus-05-2026$/,
    contextWindow: 128_000,
    outputTokens: 64_000,
    checked,
    source: PRICES,
  },
  {
    of: /^command-(?:r-08-2024|r-plus-08-2024|r7b-12-2024)$/,
    contextWindow: 128_000,
    checked,
    source: PRICES,
  },
]
