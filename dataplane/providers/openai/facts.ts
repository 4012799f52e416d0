/** The facts about OpenAI's hosted API. */
import { OF_OPENAI } from '../../wire/extras.ts'
import type { ProviderFacts } from '../../wire/provider-facts.ts'
import { OF_RUNTIMES } from '../routing-members.ts'
import { baseName, OPENAI_MODELS } from './models.ts'
import { SERVICE_MODELS } from './services.ts'

export const facts: ProviderFacts = {
  name: 'openai',
  summary: "OpenAI's hosted API, or any service that speaks exactly like it.",
  hosted: true,
  writable: {
    reasoning: true,
    efforts: true,
    thinking_member: true,
    call_id_length: true,
    wires: ['chat', 'responses', 'messages'],
  },
  asksResponses: true,
  calls: { name: /^[a-zA-Z0-9_-]+$/, nameMax: 64, id: /^/, idMax: 40 },
  natives: ['responses', 'messages'],
  nativeDefault: () => ['responses'],
  defaultEndpoint: 'https://api.openai.com/v1',
  settings: ['project'],
  listedAs: (model) => [model, `openai/${model}`],
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
  modelName: baseName,
  models: [...OPENAI_MODELS, ...SERVICE_MODELS],
}
