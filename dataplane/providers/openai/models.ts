/** The facts about OpenAI's models, by their names. */
import type { ModelRow } from '../../wire/models/capabilities.ts'

const checked = '2026-11-26'
const TYPES = 'npm openai 6.49.0, ChatModel and ResponsesModel'
const PRICES = 'PyPI litellm 1.110.2, model_prices_and_context_window'
const TIKTOKEN = 'PyPI tiktoken 0.14.0, model.py'
const REASONING = 'https://developers.openai.com/api/docs/guides/reasoning'
const AI_SDK = 'npm @ai-sdk/openai 3.0.141, getOpenAILanguageModelCapabilities'
/** Each effort was tried at each model of the API. */
const TRIED = 'https://community.openai.com/t/1371738'

const TO_HIGH = ['low', 'medium', 'high'] as const
const TO_XHIGH = [...TO_HIGH, 'xhigh'] as const
const TO_MAX = [...TO_XHIGH, 'max'] as const

const WIRES: readonly ModelRow[] = [
  {
    of: /^(?:gpt-[\d.]+-(?:pro|codex)|codex-mini|o\d-pro|o\d(?:-mini)?-deep-research|computer-use-)/,
    responses: 'always',
    checked,
    source: TYPES,
  },
  // Chats refuse functions with an effort; newer models also refuse functions without one.
  {
    of: /^gpt-(?:5\.(?:[6-9]|\d\d)|[6-9])/,
    responses: 'with_tools',
    checked,
    source: 'https://github.com/BerriAI/litellm/pull/34569',
  },
  { of: /^gpt-5\.[45]/, responses: 'with_effort', checked, source: REASONING },
  {
    of: /^(?:o\d|codex-mini|gpt-(?:[6-9]|5(?!(?:\.\d+)?-chat)))/,
    limitMember: 'max_completion_tokens',
    checked,
    source: 'https://github.com/griptape-ai/ComfyUI-Griptape/issues/312',
  },
]

const THINKING: readonly ModelRow[] = [
  // The API refuses unknown members of messages.
  {
    of: /^(?:gpt-(?!oss)|chatgpt-|o\d|codex-|computer-use-|davinci-|babbage-)/,
    thinkingMember: 'none',
    ownPictures: false,
    checked,
    source: 'npm openai 6.49.0, ChatCompletionAssistantMessageParam',
  },
  {
    of: /^(?:gpt-[34]|chatgpt-4|gpt-5(?:\.\d+)?-chat|gpt-5-search|o1-(?:mini|preview))/,
    reasons: false,
    checked,
    source: TRIED,
  },
  {
    of: /^(?:o\d|gpt-(?:[6-9]|5(?!(?:\.\d+)?-chat)))/,
    sampling: false,
    checked,
    source: AI_SDK,
  },
  { of: /^gpt-5-pro/, efforts: ['high'], checked, source: TRIED },
  { of: /^gpt-5\.\d+-pro/, efforts: ['medium', 'high', 'xhigh'], checked, source: TRIED },
  { of: /^gpt-5(?:\.1)?-codex-max|^gpt-5\.[23]-codex/, efforts: TO_XHIGH, checked, source: TRIED },
  { of: /^(?:o\d|codex-mini|gpt-5(?:\.1)?-codex)/, efforts: TO_HIGH, checked, source: TRIED },
  {
    of: /^gpt-5(?:-mini|-nano)?$/,
    efforts: ['minimal', ...TO_HIGH],
    checked,
    source: TRIED,
  },
  { of: /^gpt-5\.1/, efforts: ['none', ...TO_HIGH], checked, source: TRIED },
  { of: /^gpt-5\.[2-5]/, efforts: ['none', ...TO_XHIGH], checked, source: REASONING },
  {
    of: /^gpt-(?:5\.6|6-(?:sol|luna)|6\.1-terra)/,
    efforts: ['none', ...TO_MAX],
    checked,
    source: AI_SDK,
  },
  {
    of: /^gpt-[6-9]/,
    efforts: TO_MAX,
    checked,
    source: 'npm @ai-sdk/openai 3.0.141, getOpenAILanguageModelCapabilities',
  },
]

const SIZES: readonly ModelRow[] = [
  { of: /^gpt-5(?:\.\d+)?-chat/, contextWindow: 128_000, checked, source: PRICES },
  {
    of: /^gpt-5(?:\.[1-3])?(?:-mini|-nano|-pro|-codex|-codex-mini|-codex-max)?$/,
    contextWindow: 400_000,
    checked,
    source: PRICES,
  },
  { of: /^gpt-5\.4-(?:mini|nano)$/, contextWindow: 400_000, checked, source: PRICES },
  { of: /^gpt-5\.[45](?:-pro)?$/, contextWindow: 1_050_000, checked, source: PRICES },
  {
    of: /^gpt-(?:5\.6|6|6\.1)(?:-(?:sol|terra|luna|astra))?$/,
    contextWindow: 1_050_000,
    checked,
    source: PRICES,
  },
  { of: /^gpt-4\.1(?:-mini|-nano)?$/, contextWindow: 1_047_576, checked, source: PRICES },
  { of: /^gpt-4(?:o|o-mini|-turbo)$/, contextWindow: 128_000, checked, source: PRICES },
  { of: /^gpt-4$/, contextWindow: 8_192, checked, source: PRICES },
  { of: /^gpt-3\.5-turbo$/, contextWindow: 16_385, checked, source: PRICES },
  { of: /^o(?:1|3|3-mini|4-mini)$/, contextWindow: 200_000, checked, source: PRICES },
  {
    of: /^(?:gpt-5|gpt-4\.[15]|gpt-4o|chatgpt-4o|o[134])(?:$|[-.:@])/,
    encoding: 'o200k_base',
    checked,
    source: TIKTOKEN,
  },
  {
    of: /^gpt-(?:4|3\.5)(?:$|[-.:@])/,
    encoding: 'cl100k_base',
    checked,
    source: TIKTOKEN,
  },
]

export const OPENAI_MODELS: readonly ModelRow[] = [...WIRES, ...THINKING, ...SIZES]

const TUNED = /^ft:([^:]+)/

/** A tuned model has the facts of its base model. */
export function baseName(model: string): string {
  return TUNED.exec(model)?.[1] ?? model
}
