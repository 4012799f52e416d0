/** The facts about models of services that speak OpenAI's API; they write a model behind the name of its maker. */
import type { ModelRow } from '../../wire/models/capabilities.ts'

const checked = '2026-11-26'

export const SERVICE_MODELS: readonly ModelRow[] = [
  // Groq refuses thinking and efforts with models that do not reason.
  {
    of: /llama|gemma|kimi-k2-instruct|mixtral/,
    thinkingMember: 'none',
    reasons: false,
    checked,
    source: 'https://github.com/vercel/ai/pull/8057',
  },
  // Groq and Cerebras know it by this name alone.
  {
    of: /gpt-oss|^qwen\/qwen3|^zai-glm/,
    thinkingMember: 'reasoning',
    checked,
    source: 'https://github.com/janhq/jan/issues/8136',
  },
  // Models that paint at OpenRouter.
  {
    of: /image/,
    ownPictures: true,
    checked,
    source: 'https://openrouter.ai/docs/features/multimodal/image-generation',
  },
  // OpenRouter hands them on to these.
  {
    of: /claude|gemini|^qwen\//,
    marks: true,
    checked,
    source: 'https://openrouter.ai/docs/features/prompt-caching',
  },
]
