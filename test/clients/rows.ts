/** The clients of the page, by the package of each version. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export type Api = 'chat' | 'responses' | 'messages'
export type Runtime = 'python' | 'node' | 'go' | 'java'

export interface Row {
  readonly client: string
  readonly api: Api
  readonly runtime: Runtime
  /** The driver's file in the folder of its runtime. */
  readonly driver: string
  /** The Python environment, or the name that Node imports. */
  readonly group?: string
  /** The name of the package in its registry. */
  readonly package?: string
  /** A program that starts again for each case needs a limit that it can still reach after its start. */
  readonly isSlow?: boolean
  /** The driver's settings besides address, key, model and question; undefined without any. */
  readonly set?: string
  /** Behaviour of the client itself, by case: the page shows it, and the gateway is not at fault. */
  readonly known?: Readonly<Record<string, string>>
}

interface Versions {
  readonly python: Readonly<Record<string, readonly string[]>>
  readonly node: Readonly<Record<string, string>>
}

export const VERSIONS: Versions = JSON.parse(
  readFileSync(join(import.meta.dirname, 'versions.json'), 'utf8'),
)

const python = (driver: string, group: string, client: string, name: string) => ({
  client,
  runtime: 'python' as const,
  driver: `${driver}.py`,
  group,
  package: name,
})
const node = (driver: string, group: string, client: string) => ({
  client,
  runtime: 'node' as const,
  driver: `${driver}.mjs`,
  group,
  package: group,
})
const over = (row: Omit<Row, 'api'>, ...apis: readonly Api[]): Row[] =>
  apis.map((api) => ({ ...row, api }))

const OPENAI = 'OpenAI for Python'
const OPENAI_NODE = 'OpenAI for Node'
const AI_SDK = '`includeUsage`, `supportsStructuredOutputs`'
const LITELLM = '`max_tokens`; `include_usage` for streams; no price list from the Internet'

export const ROWS: readonly Row[] = [
  ...over(python('openai_chat', 'first', OPENAI, 'openai'), 'chat'),
  ...over(python('openai_chat', 'second', OPENAI, 'openai'), 'chat'),
  ...over(python('openai_chat', 'current', OPENAI, 'openai'), 'chat'),
  ...over(python('openai_responses', 'current', OPENAI, 'openai'), 'responses'),
  ...over(node('openai-sdk', 'openai-4', OPENAI_NODE), 'chat'),
  ...over(node('openai-sdk', 'openai-6', OPENAI_NODE), 'chat', 'responses'),
  ...over(node('openai-sdk', 'openai-7', OPENAI_NODE), 'chat', 'responses'),
  ...over(python('anthropic_sdk', 'current', 'Anthropic for Python', 'anthropic'), 'messages'),
  ...over(node('anthropic-sdk', '@anthropic-ai/sdk', 'Anthropic for Node'), 'messages'),
  ...over({ ...node('ai-sdk', 'ai-6', 'Vercel AI SDK'), set: AI_SDK }, 'chat'),
  ...over(node('ai-sdk', 'ai-6', 'Vercel AI SDK'), 'responses', 'messages'),
  ...over({ ...node('ai-sdk', 'ai-7', 'Vercel AI SDK'), set: AI_SDK }, 'chat'),
  ...over(node('ai-sdk', 'ai-7', 'Vercel AI SDK'), 'responses', 'messages'),
  ...over(
    {
      ...python('langchain_chat', 'current', 'LangChain for Python', 'langchain-openai'),
      set: '`stream_usage`',
    },
    'chat',
  ),
  ...over(
    python('langchain_chat', 'current', 'LangChain for Python', 'langchain-anthropic'),
    'messages',
  ),
  ...over(node('langchain', '@langchain/openai', 'LangChain for Node'), 'chat'),
  ...over(
    {
      ...node('langchain', '@langchain/anthropic', 'LangChain for Node'),
      known: { stream: "keeps the first event's estimate" },
    },
    'messages',
  ),
  ...over(
    {
      ...python('llama_index_chat', 'second', 'LlamaIndex', 'llama-index-llms-openai-like'),
      set: '`is_chat_model`, `is_function_calling_model`, `context_window`; `include_usage` for streams',
    },
    'chat',
  ),
  ...over({ ...python('litellm_sdk', 'second', 'LiteLLM', 'litellm'), set: LITELLM }, 'chat'),
  ...over(
    {
      ...python('litellm_sdk', 'second', 'LiteLLM', 'litellm'),
      set: LITELLM,
      known: { busy: 'does not ask again', leave: 'cannot close a stream' },
    },
    'messages',
  ),
  ...over(
    python('pydantic_agents', 'current', 'Pydantic AI', 'pydantic-ai-slim'),
    'chat',
    'responses',
    'messages',
  ),
  ...over(
    {
      ...python('openai_agents', 'current', 'OpenAI Agents', 'openai-agents'),
      set: 'no traces to OpenAI',
    },
    'responses',
  ),
  ...over(
    {
      ...python('instructor_sdk', 'second', 'Instructor', 'instructor'),
      known: { stream: 'shows no usage of a stream' },
    },
    'chat',
  ),
  ...over(
    {
      ...python('llm_cli', 'current', 'llm', 'llm'),
      set: '`supports_tools` and `supports_schema` of its models; `--usage` for streams',
      isSlow: true,
    },
    'chat',
  ),
  ...over(
    {
      ...python('aider_cli', 'aider', 'aider', 'aider-chat'),
      set: 'questions without a repository or a map of one; no checks for updates, no analytics',
      known: { stream: 'counts tokens itself' },
    },
    'chat',
  ),
  { client: 'Go, net/http', api: 'chat', runtime: 'go', driver: 'main.go' },
  { client: 'Java, HttpClient', api: 'chat', runtime: 'java', driver: 'Client.java' },
  {
    ...node('programs', 'codex', 'Codex CLI'),
    package: '@openai/codex',
    set: '`stream_idle_timeout_ms` 1900, so that heartbeats show; no sandbox',
    api: 'responses',
    isSlow: true,
  },
  {
    ...node('programs', 'claude', 'Claude Code'),
    package: '@anthropic-ai/claude-code',
    set: '`CLAUDE_CODE_MAX_RETRIES` 2; no traffic but to the model; the tool `Bash` allowed',
    api: 'messages',
    isSlow: true,
  },
]

/** The pinned version; clients without a package have the version of their platform. */
export function versionOf({
  runtime,
  group,
  package: name,
}: Pick<Row, 'runtime' | 'group' | 'package'>): string {
  if (name === undefined) return ''
  if (runtime === 'node') return VERSIONS.node[name]?.split('@').at(-1) ?? ''
  const pinned = VERSIONS.python[group ?? '']?.find((one) => one.split(/[[=]/)[0] === name)
  return pinned?.split('==')[1] ?? ''
}
