/** The clients of the page, by the package whose version stands there. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export type Api = 'chat' | 'responses' | 'messages'
export type Runtime = 'python' | 'node' | 'go' | 'java'

export interface Row {
  readonly client: string
  readonly api: Api
  readonly runtime: Runtime
  /** The file in the folder of its runtime. */
  readonly driver: string
  /** The environment of Python, or the name by which Node imports the package. */
  readonly group?: string
  /** Its name where packages are published. */
  readonly package?: string
  /** A program that starts anew for each case needs a limit that is still reached after that. */
  readonly isSlow?: boolean
  /** Habits of the client itself, by case: they are shown, and no fault of the gateway. */
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
  ...over(node('ai-sdk', 'ai-6', 'Vercel AI SDK'), 'chat', 'responses', 'messages'),
  ...over(node('ai-sdk', 'ai-7', 'Vercel AI SDK'), 'chat', 'responses', 'messages'),
  ...over(python('langchain_chat', 'current', 'LangChain for Python', 'langchain-openai'), 'chat'),
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
    python('llama_index_chat', 'second', 'LlamaIndex', 'llama-index-llms-openai-like'),
    'chat',
  ),
  ...over(python('litellm_sdk', 'second', 'LiteLLM', 'litellm'), 'chat'),
  ...over(
    {
      ...python('litellm_sdk', 'second', 'LiteLLM', 'litellm'),
      known: { busy: 'waits for its own time', leave: 'cannot close a stream' },
    },
    'messages',
  ),
  ...over(
    python('pydantic_agents', 'current', 'Pydantic AI', 'pydantic-ai-slim'),
    'chat',
    'responses',
    'messages',
  ),
  ...over(python('openai_agents', 'current', 'OpenAI Agents', 'openai-agents'), 'responses'),
  ...over(python('instructor_sdk', 'second', 'Instructor', 'instructor'), 'chat'),
  ...over({ ...python('llm_cli', 'current', 'llm', 'llm'), isSlow: true }, 'chat'),
  ...over(python('aider_cli', 'aider', 'aider', 'aider-chat'), 'chat'),
  { client: 'Go, net/http', api: 'chat', runtime: 'go', driver: 'main.go' },
  { client: 'Java, HttpClient', api: 'chat', runtime: 'java', driver: 'Client.java' },
  {
    ...node('programs', 'codex', 'Codex CLI'),
    package: '@openai/codex',
    api: 'responses',
    isSlow: true,
  },
  {
    ...node('programs', 'claude', 'Claude Code'),
    package: '@anthropic-ai/claude-code',
    api: 'messages',
    isSlow: true,
  },
]

/** The pinned version; clients without a package are as old as their platform. */
export function versionOf({ runtime, group, package: name }: Row): string {
  if (name === undefined) return ''
  if (runtime === 'node') return VERSIONS.node[name]?.split('@').at(-1) ?? ''
  const pinned = VERSIONS.python[group ?? '']?.find((one) => one.split(/[[=]/)[0] === name)
  return pinned?.split('==')[1] ?? ''
}
