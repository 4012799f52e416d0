/** The models of Azure OpenAI: OpenAI's models under Azure's names. */
import type { ModelRow } from '../../wire/models/capabilities.ts'
import { OPENAI_MODELS } from '../openai/models.ts'

export const MODELS: readonly ModelRow[] = [
  {
    of: /^gpt-35-turbo(?:$|[-.:@])/,
    reasons: false,
    thinkingMember: 'none',
    encoding: 'cl100k_base',
    checked: '2026-11-26',
    source: 'PyPI tiktoken 0.14.0, model.py',
  },
  {
    of: /^gpt-35-turbo$/,
    contextWindow: 16_385,
    checked: '2026-11-22',
    source: 'https://learn.microsoft.com/azure/ai-services/openai/concepts/models',
  },
  ...OPENAI_MODELS,
]
