/** The providers and services of other gateways, by their names there. */

export interface Service {
  readonly provider: string
  /** Absent: the provider's default, or the source has to name one. */
  readonly endpoint?: string
  /** The variable that other gateways read if their file names no key. */
  readonly variable?: string
  /** Runs on machines of the user: it needs an endpoint, and may need no key. */
  readonly isOwn?: true
}

const openAiLike = (endpoint: string, variable: string): Service => ({
  provider: 'openai',
  endpoint,
  variable,
})

const OPENAI: Service = { provider: 'openai', variable: 'OPENAI_API_KEY' }
const AZURE: Service = { provider: 'azure_openai', variable: 'AZURE_API_KEY' }
const ANTHROPIC: Service = { provider: 'anthropic', variable: 'ANTHROPIC_API_KEY' }
const BEDROCK: Service = { provider: 'bedrock' }
const GEMINI: Service = { provider: 'gemini', variable: 'GEMINI_API_KEY' }
const VERTEX: Service = { provider: 'gemini' }
const MISTRAL: Service = { provider: 'mistral', variable: 'MISTRAL_API_KEY' }
const COHERE: Service = { provider: 'cohere', variable: 'COHERE_API_KEY' }
const OLLAMA: Service = { provider: 'ollama', endpoint: 'http://127.0.0.1:11434', isOwn: true }
const VLLM: Service = { provider: 'vllm', isOwn: true }
const TOGETHER = openAiLike('https://api.together.xyz/v1', 'TOGETHERAI_API_KEY')
const FIREWORKS = openAiLike('https://api.fireworks.ai/inference/v1', 'FIREWORKS_API_KEY')

/** By letters and digits in lower case. */
const SERVICES: Readonly<Record<string, Service>> = {
  openai: OPENAI,
  customopenai: OPENAI,
  openailike: OPENAI,
  textcompletionopenai: OPENAI,
  litellmproxy: OPENAI,
  azure: AZURE,
  azureopenai: AZURE,
  anthropic: ANTHROPIC,
  bedrock: BEDROCK,
  awsbedrock: BEDROCK,
  gemini: GEMINI,
  google: GEMINI,
  vertex: VERTEX,
  vertexai: VERTEX,
  gcpvertexai: VERTEX,
  mistral: MISTRAL,
  mistralai: MISTRAL,
  cohere: COHERE,
  coherechat: COHERE,
  vllm: VLLM,
  hostedvllm: VLLM,
  sgl: { provider: 'sglang', isOwn: true },
  sglang: { provider: 'sglang', isOwn: true },
  ollama: OLLAMA,
  ollamachat: OLLAMA,
  triton: { provider: 'triton', isOwn: true },
  huggingface: { provider: 'tgi', isOwn: true },
  tgi: { provider: 'tgi', isOwn: true },
  llamafile: { provider: 'llamacpp', isOwn: true },
  llamacpp: { provider: 'llamacpp', isOwn: true },
  lmstudio: { provider: 'openai', endpoint: 'http://127.0.0.1:1234/v1', isOwn: true },
  openrouter: openAiLike('https://openrouter.ai/api/v1', 'OPENROUTER_API_KEY'),
  groq: openAiLike('https://api.groq.com/openai/v1', 'GROQ_API_KEY'),
  deepseek: openAiLike('https://api.deepseek.com/v1', 'DEEPSEEK_API_KEY'),
  xai: openAiLike('https://api.x.ai/v1', 'XAI_API_KEY'),
  grok: openAiLike('https://api.x.ai/v1', 'XAI_API_KEY'),
  together: TOGETHER,
  togetherai: TOGETHER,
  fireworks: FIREWORKS,
  fireworksai: FIREWORKS,
  cerebras: openAiLike('https://api.cerebras.ai/v1', 'CEREBRAS_API_KEY'),
  nvidianim: openAiLike('https://integrate.api.nvidia.com/v1', 'NVIDIA_NIM_API_KEY'),
  sambanova: openAiLike('https://api.sambanova.ai/v1', 'SAMBANOVA_API_KEY'),
  deepinfra: openAiLike('https://api.deepinfra.com/v1/openai', 'DEEPINFRA_API_KEY'),
  moonshot: openAiLike('https://api.moonshot.ai/v1', 'MOONSHOT_API_KEY'),
  dashscope: openAiLike(
    'https://dashscope-intl.aliyuncs.com/compatible-mode/v1',
    'DASHSCOPE_API_KEY',
  ),
  hyperbolic: openAiLike('https://api.hyperbolic.xyz/v1', 'HYPERBOLIC_API_KEY'),
  nebius: openAiLike('https://api.studio.nebius.ai/v1', 'NEBIUS_API_KEY'),
  parasail: openAiLike('https://api.parasail.io/v1', 'PARASAIL_API_KEY'),
}

/** undefined: the gateway has no such provider. */
export function serviceNamed(name: string): Service | undefined {
  const letters = name.toLowerCase().replaceAll(/[^a-z0-9]/g, '')
  return Object.hasOwn(SERVICES, letters) ? SERVICES[letters] : undefined
}

const BEGINNINGS: readonly (readonly [start: RegExp, service: string])[] = [
  [/^(gpt-|chatgpt|o\d|text-embedding-|whisper|ft:|davinci|babbage)/, 'openai'],
  [/^claude/, 'anthropic'],
  [/^gemini/, 'gemini'],
  [/^(command|embed-|rerank-)/, 'cohere'],
  [/^(mistral|codestral|ministral|open-mi[sx]tral|magistral|pixtral)/, 'mistral'],
  [/^((us|eu|apac|global)\.)?(anthropic|amazon|meta|cohere|ai21)\./, 'bedrock'],
]

/** The service of a well-known model that is named without one. */
export function serviceOfModel(model: string): string | undefined {
  return BEGINNINGS.find(([start]) => start.test(model))?.[1]
}
