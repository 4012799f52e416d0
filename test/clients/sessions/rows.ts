/** The clients with sessions, and the names of their tools. */
import type { Runtime } from '../rows.ts'
import { AIDER, CLAUDE_CODE, CLINE, CODEX, OPENCODE } from './agents.ts'
import type { Script, Toolbox } from './brain.ts'
import { byDriver } from './driver.ts'
import { type Program, playProgram } from './programs.ts'
import type { Shown, Stage } from './stage.ts'
import type { Judged } from './steps.ts'

export interface SessionRow {
  readonly client: string
  readonly api: 'chat' | 'responses' | 'messages'
  readonly runtime: Runtime
  readonly group?: string
  /** The name of the package in its registry. */
  readonly package: string
  readonly script: Script
  play(stage: Stage): Promise<Shown>
  /** Behaviour of the client in a step, as the page shows it. */
  readonly known?: Readonly<Partial<Record<Judged, string>>>
  readonly set?: string
}

type Api = SessionRow['api']

/** The tools of the drivers. */
const DRIVEN: Toolbox = (deed) => {
  if (deed.kind === 'run') return { name: 'run_command', args: { command: deed.command } }
  if (deed.kind === 'look') return { name: 'view_image', args: { path: deed.path } }
  if (deed.kind === 'read') return { name: 'read_file', args: { path: deed.path } }
  const { path, old: old_text, new: new_text } = deed
  return { name: 'edit_file', args: { path, old_text, new_text } }
}

function driven(
  row: Pick<SessionRow, 'client' | 'package' | 'runtime' | 'group' | 'set'>,
  driver: string,
  ...apis: readonly Api[]
): SessionRow[] {
  return apis.map((api) => ({
    ...row,
    api,
    script: { toolbox: DRIVEN },
    play: (stage) => byDriver({ ...row, driver, api }, stage),
  }))
}

function program(row: Omit<SessionRow, 'script' | 'play'>, one: Program): SessionRow {
  return { ...row, script: one.script, play: (stage) => playProgram(one, stage) }
}

const NODE = { runtime: 'node' } as const
const python = (client: string, name: string) =>
  ({ client, package: name, runtime: 'python', group: 'current' }) as const
const AI_SDK = {
  ...NODE,
  client: 'Vercel AI SDK',
  package: 'ai-7',
  group: 'ai-7',
  set: '`includeUsage`; for responses `store: false`, so that it sends items instead of their ids',
} as const

const AGENTS = python('OpenAI Agents', 'openai-agents')
const PYDANTIC = python('Pydantic AI', 'pydantic-ai-slim')
const LANGGRAPH = python('LangGraph', 'langgraph')

export const SESSION_ROWS: readonly SessionRow[] = [
  program(
    {
      ...NODE,
      client: 'Claude Code',
      package: '@anthropic-ai/claude-code',
      api: 'messages',
      set: '`CLAUDE_CODE_FILE_READ_MAX_OUTPUT_TOKENS` 200000; summed up by `/compact`',
    },
    CLAUDE_CODE,
  ),
  program(
    {
      ...NODE,
      client: 'Codex CLI',
      package: '@openai/codex',
      api: 'responses',
      set:
        '`tool_output_token_limit` 100000; no sandbox; `model_auto_compact_token_limit` 40000 to be summed up. ' +
        'Its model is the name of a route: with a name such as `gpt-5.5` it sends `apply_patch` with a grammar, ' +
        'which upstreams without responses refuse',
    },
    CODEX,
  ),
  program(
    {
      ...NODE,
      client: 'opencode',
      package: 'opencode-ai',
      api: 'chat',
      set: 'a model with pictures; `limit.context` 20000 to be summed up',
    },
    OPENCODE,
  ),
  program(
    {
      ...NODE,
      client: 'Cline',
      package: 'cline',
      api: 'chat',
      known: { compaction: 'in a terminal alone', resume: 'in a terminal alone' },
      set: 'each prompt in another session',
    },
    CLINE,
  ),
  program(
    {
      client: 'aider',
      package: 'aider-chat',
      runtime: 'python',
      group: 'aider',
      api: 'chat',
      known: { run: 'asks its user first', parallel: 'has no tools' },
      set: '`--edit-format diff`; its files are named at start; `--max-chat-history-tokens` 20 to be summed up',
    },
    AIDER,
  ),
  ...driven(AGENTS, 'session_openai_agents.py', 'chat', 'responses'),
  ...driven(PYDANTIC, 'session_pydantic_ai.py', 'chat', 'responses', 'messages'),
  ...driven(LANGGRAPH, 'session_langgraph.py', 'chat', 'messages'),
  ...driven(AI_SDK, 'session-ai-sdk.mjs', 'chat', 'responses', 'messages'),
]
