/** The facts about OpenAI's hosted API. */
import { OF_OPENAI } from '../../wire/extras.ts'
import type { ProviderFacts } from '../../wire/provider-facts.ts'
import { OF_RUNTIMES } from '../routing-members.ts'

export const facts: ProviderFacts = {
  name: 'openai',
  summary: "OpenAI's hosted API, or any service that speaks exactly like it.",
  hosted: true,
  natives: ['responses', 'messages'],
  nativeDefault: () => ['responses'],
  defaultEndpoint: 'https://api.openai.com/v1',
  settings: ['project'],
  extras: OF_OPENAI,
  foreign: OF_RUNTIMES,
  services: {
    OpenRouter: 'https://openrouter.ai/api/v1',
    Groq: 'https://api.groq.com/openai/v1',
    DeepSeek: 'https://api.deepseek.com/v1',
    xAI: 'https://api.x.ai/v1',
    'Together AI': 'https://api.together.xyz/v1',
    'Fireworks AI': 'https://api.fireworks.ai/inference/v1',
    Cerebras: 'https://api.cerebras.ai/v1',
    'LM Studio': 'http://localhost:1234/v1',
  },
  modelWindows: {
    'gpt-5': 400_000,
    'gpt-5-mini': 400_000,
    'gpt-5-nano': 400_000,
    'gpt-4.1': 1_047_576,
    'gpt-4.1-mini': 1_047_576,
    'gpt-4.1-nano': 1_047_576,
    'gpt-4o': 128_000,
    'gpt-4o-mini': 128_000,
    'gpt-4-turbo': 128_000,
    'gpt-4': 8_192,
    'gpt-3.5-turbo': 16_385,
    o1: 200_000,
    o3: 200_000,
    'o3-mini': 200_000,
    'o4-mini': 200_000,
  },
  modelEncodings: {
    'gpt-5': 'o200k_base',
    'gpt-4.1': 'o200k_base',
    'gpt-4o': 'o200k_base',
    'chatgpt-4o': 'o200k_base',
    o1: 'o200k_base',
    o3: 'o200k_base',
    o4: 'o200k_base',
    'gpt-4': 'cl100k_base',
    'gpt-3.5': 'cl100k_base',
  },
}
