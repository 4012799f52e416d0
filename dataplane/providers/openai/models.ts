/** The differences between models of OpenAI, and of services that speak its API, as far as a request shows them. */
import { listOf, textOf } from '../../json/values.ts'
import type { ChatRequest } from '../../wire/inner-form.ts'
import type { ProviderSettings } from '../../wire/provider.ts'
import type { Takes } from '../openai-like/asking/conversation.ts'

type Named = Pick<ProviderSettings, 'model'>

/** OpenAI's own families, by the beginnings of their names; 2026-11-26, https://platform.openai.com/docs/models. */
const OF_OPENAI = /^(?:ft:)?(?:gpt-(?!oss)|chatgpt-|o\d|codex-|computer-use-|davinci-|babbage-)/

interface Family {
  readonly of: RegExp
  /** The member in which thinking goes back; absent: it is refused. */
  readonly reasoning?: Takes['reasoning']
}

/** The first that matches; services write a model behind the name of its maker. */
const FAMILIES: readonly Family[] = [
  // 2026-11-26: unknown members of messages are refused, https://platform.openai.com/docs/api-reference/chat.
  { of: OF_OPENAI },
  // 2026-11-26: Groq refuses thinking with models that do not reason, github.com/vercel/ai/pull/8057.
  { of: /llama|gemma|kimi-k2-instruct|mixtral/ },
  // 2026-11-26: Groq and Cerebras know it by this name alone, github.com/janhq/jan/issues/8136.
  { of: /gpt-oss|^qwen\/qwen3|^zai-glm/, reasoning: 'reasoning' },
  // 2026-11-26: DeepSeek and Kimi refuse a turn that goes on behind calls without it, https://api-docs.deepseek.com.
  { of: /^/, reasoning: 'reasoning_content' },
]

/** 2026-11-26: models to which OpenRouter hands cache marks on, https://openrouter.ai/docs/features/prompt-caching. */
const MARKED = /claude|gemini|^qwen\//

/** 2026-11-26: models that paint at OpenRouter, https://openrouter.ai/docs/features/multimodal/image-generation. */
const PAINTERS = /image/

/** 2026-11-26, https://platform.openai.com/docs/guides/reasoning and https://console.groq.com/docs/reasoning. */
const REASONS_NOT =
  /^(?:ft:)?(?:gpt-[34]|chatgpt-4|gpt-5(?:\.\d+)?-chat)|llama|gemma|kimi-k2-instruct|mixtral/

/** An effort is a hint, which models that do not reason refuse. */
export function hintsOfModel({ model }: Named): readonly string[] {
  return REASONS_NOT.test(model) ? ['reasoning_effort'] : []
}

export function takes({ model }: Named): Takes {
  const family = FAMILIES.find(({ of }) => of.test(model))
  return {
    developerRole: true,
    reasoning: family?.reasoning,
    marks: MARKED.test(model),
    ownPictures: PAINTERS.test(model) && !OF_OPENAI.test(model),
  }
}

/**
 * 2026-11-26, https://developers.openai.com/api/docs/guides/reasoning: GPT-5.4 and later refuse functions with an effort
 * in chat completions, and GPT-5.6 and later without `none` as well.
 */
const OF_RESPONSES = /^(?:ft:)?gpt-(?:5\.(?:[4-9]|\d\d)|[6-9])/
const WITHOUT_NONE = /^(?:ft:)?gpt-(?:5\.(?:[6-9]|\d\d)|[6-9])/

/** The requests that such a model takes as responses alone. */
export const responsesFor = {
  of: (model: string) => OF_RESPONSES.test(model),
  takes({ body, isUnthinking }: ChatRequest, { model }: Named) {
    if (!OF_RESPONSES.test(model) || listOf(body.tools).length === 0) return false
    const effort = isUnthinking ? undefined : textOf(body.reasoning_effort)
    return effort === undefined ? WITHOUT_NONE.test(model) : effort !== 'none'
  },
}
