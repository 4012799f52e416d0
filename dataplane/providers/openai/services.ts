/** The facts about models of services with OpenAI's API; their names include the maker, such as `maker/model`. */
import type { ModelRow } from '../../wire/models/capabilities.ts'

const checked = '2026-11-26'

export const SERVICE_MODELS: readonly ModelRow[] = [
  // Groq refuses thinking and efforts for models that do not reason.
  {
    of: /llama|gemma|kimi-k2-instruct|mixtral/,
    thinkingMember: 'none',
    reasons: false,
    checked,
    source: 'https://github.com/vercel/ai/pull/8057',
  },
  // Groq and Cerebras support only this name.
  {
    of: /gpt-oss|^qwen\/qwen3|^zai-glm/,
    thinkingMember: 'reasoning',
    checked,
    source: 'https://github.com/janhq/jan/issues/8136',
  },
  // Models at OpenRouter that create pictures.
  {
    of: /image/,
    ownPictures: true,
    checked,
    source: 'https://openrouter.ai/docs/features/multimodal/image-generation',
  },
  // OpenRouter passes them on to these vendors.
  {
    of: /claude|gemini|^qwen\//,
    marks: true,
    checked,
    source: 'https://openrouter.ai/docs/features/prompt-caching',
  },
]
