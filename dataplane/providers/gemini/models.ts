/** The facts about Gemini models, by their names. An unknown model has the facts of the newest. */
import type { ModelRow } from '../../wire/models/capabilities.ts'

const checked = '2026-11-26'
/** The day of a row that no newer document confirms. */
const BEFORE = '2026-11-22'
const PRICES = 'PyPI litellm 1.110.2, model_prices_and_context_window'
const MILLION = 1_048_576

export const MODELS: readonly ModelRow[] = [
  {
    of: /^gemini-[\w.-]*-image(?:-|$)|^gemini-2\.0-flash-(?:exp|preview)-image-generation/,
    paints: true,
    checked,
    source: 'https://ai.google.dev/gemini-api/docs/image-generation',
  },
  {
    of: /^gemini-(?:1|2\.0)|^gemma-[1-3]|^gemini-2\.5-flash-(?:image|preview-tts)/,
    reasons: false,
    signs: false,
    checked: BEFORE,
    source: 'https://ai.google.dev/gemini-api/docs/thinking',
  },
  {
    of: /^gemma-4/,
    efforts: ['minimal', 'high'],
    signs: false,
    checked,
    source: 'https://github.com/livekit/agents/pull/7080',
  },
  {
    of: /^gemini-2\.5-pro/,
    thinking: 'budget',
    thinkingOff: 'never',
    signs: false,
    checked,
    source: 'https://github.com/vercel/ai/issues/8027',
  },
  {
    of: /^gemini-2\.5/,
    thinking: 'budget',
    thinkingTokens: 24_576,
    signs: false,
    checked,
    source: 'https://github.com/juspay/neurolink/pull/1707',
  },
  {
    of: /^gemini-3-pro/,
    efforts: ['low', 'high'],
    checked,
    source: 'https://hexdocs.pm/gemini_ex/Gemini.Types.Enums.ThinkingLevel.html',
  },
  {
    of: /^gemini-(?:[\d.]+-)?pro|^gemini-3\.[78]-flash|^gemini-4-/,
    efforts: ['low', 'medium', 'high'],
    checked,
    source: PRICES,
  },
  {
    of: /^gemini-(?:2\.[05]-(?:pro|flash)|3-(?:pro|flash)-preview|3\.1-pro-preview|3\.[15-8]-flash)(?:-lite)?$/,
    contextWindow: MILLION,
    checked,
    source: PRICES,
  },
  {
    of: /^gemini-(?:4-\w+|pro|flash|flash-lite)$/,
    contextWindow: MILLION,
    checked,
    source: PRICES,
  },
  // Older models on Vertex AI, and models with other names, accept predictions.
  {
    of: /^gemini-embedding-001$/,
    vectors: 'predict',
    checked: BEFORE,
    source:
      'https://docs.cloud.google.com/vertex-ai/generative-ai/docs/model-reference/text-embeddings-api',
  },
  {
    of: /gemini|maas/,
    vectors: 'content',
    checked,
    source: 'npm @google/genai 2.32.0, isVertexEmbedContentModel',
  },
]
