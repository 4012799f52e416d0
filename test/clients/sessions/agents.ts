/** The agents that are programs: the command for each task, and the names of its tools. */
import { join } from 'node:path'
import { pythonOf } from '../install.ts'
import type { Toolbox } from './brain.ts'
import type { Program } from './programs.ts'
import type { Stage } from './stage.ts'
import { BIG, type Deed, NOTES, PAINTED, promptOf, WORDS } from './steps.ts'

const CLAUDE_CODE_TOOLS: Toolbox = (deed) => {
  if (deed.kind === 'run')
    return { name: 'Bash', args: { command: deed.command, description: 'Runs it.' } }
  if (deed.kind !== 'edit') return { name: 'Read', args: { file_path: deed.path } }
  const { path: file_path, old: old_string, new: new_string } = deed
  return { name: 'Edit', args: { file_path, old_string, new_string } }
}

export const CLAUDE_CODE: Program = {
  script: { toolbox: CLAUDE_CODE_TOOLS },
  command(task, { url, key }) {
    const prompt = task === 'compact' ? '/compact' : promptOf(task)
    const tools = ['--allowedTools', 'Bash,Read,Edit', '--permission-mode', 'acceptEdits']
    const model = ['--model', 'claude-opus-4-8']
    const again = task === 'work' ? [] : ['--continue']
    return {
      program: 'claude',
      args: ['-p', prompt, ...again, ...model, ...tools],
      env: {
        ANTHROPIC_BASE_URL: url,
        ANTHROPIC_API_KEY: key,
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        CLAUDE_CODE_MAX_RETRIES: '2',
        CLAUDE_CODE_FILE_READ_MAX_OUTPUT_TOKENS: '200000',
      },
    }
  },
}

const CODEX_CONFIG = ({ url }: Stage) => `model_provider = "gw"
tool_output_token_limit = 100000
[model_providers.gw]
name = "gw"
base_url = "${url}/v1"
env_key = "GW_KEY"
wire_api = "responses"
`

const CODEX_TOOLS: Toolbox = (deed) => {
  if (deed.kind === 'look') return { name: 'view_image', args: { path: deed.path } }
  return { name: 'exec_command', args: { cmd: inShell(deed), max_output_tokens: 100_000 } }
}

export const CODEX: Program = {
  script: { toolbox: CODEX_TOOLS },
  files: (stage) => ({ 'config.toml': CODEX_CONFIG(stage) }),
  command(task, { key }, home) {
    const again = task === 'work' ? ['exec'] : ['exec', 'resume', '--last']
    const limit = task === 'compact' ? ['-c', 'model_auto_compact_token_limit=40000'] : []
    const free = ['--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox']
    const args = [...again, ...free, '-m', 'served', ...limit, promptOf(task)]
    return { program: 'codex', args, env: { CODEX_HOME: home, GW_KEY: key } }
  },
}

/** An agent whose only tool for files is a shell. */
function inShell(deed: Exclude<Deed, { kind: 'look' }>): string {
  if (deed.kind === 'run') return deed.command
  if (deed.kind === 'read') return `cat ${deed.path}`
  const patch = `*** Update File: ${deed.path}\n@@\n-${deed.old}\n+${deed.new}`
  return `apply_patch <<'EOF'\n*** Begin Patch\n${patch}\n*** End Patch\nEOF`
}

const OPENCODE_TOOLS: Toolbox = (deed) => {
  if (deed.kind === 'run')
    return { name: 'bash', args: { command: deed.command, description: 'Runs it.' } }
  if (deed.kind !== 'edit') return { name: 'read', args: { filePath: deed.path } }
  const { path: filePath, old: oldString, new: newString } = deed
  return { name: 'edit', args: { filePath, oldString, newString } }
}

export const OPENCODE: Program = {
  script: { toolbox: OPENCODE_TOOLS },
  command(task, { url, key }) {
    const limit = { context: task === 'compact' ? 20_000 : 1_000_000, output: 4000 }
    const model = {
      name: 'served',
      attachment: true,
      tool_call: true,
      limit,
      modalities: { input: ['text', 'image'], output: ['text'] },
    }
    const options = { baseURL: `${url}/v1`, apiKey: key }
    const gw = { npm: '@ai-sdk/openai-compatible', options, models: { served: model } }
    const config = { provider: { gw }, permission: { '*': 'allow' }, autoupdate: false }
    const again = task === 'work' ? [] : ['--continue']
    return {
      program: 'opencode',
      args: ['run', ...again, '-m', 'gw/served', promptOf(task)],
      env: {
        OPENCODE_CONFIG_CONTENT: JSON.stringify(config),
        OPENCODE_DISABLE_MODELS_FETCH: '1',
        OPENCODE_DISABLE_AUTOUPDATE: '1',
      },
    }
  },
}

const CLINE_PROVIDER = 'openai-compatible'

const CLINE_TOOLS: Toolbox = (deed) => {
  if (deed.kind === 'run') return { name: 'run_commands', args: { commands: [deed.command] } }
  if (deed.kind !== 'edit') return { name: 'read_files', args: { files: [{ path: deed.path }] } }
  const { path, old: old_text, new: new_text } = deed
  return { name: 'editor', args: { path, old_text, new_text } }
}

export const CLINE: Program = {
  script: { toolbox: CLINE_TOOLS },
  files({ url, key }) {
    const settings = { apiKey: key, model: 'served', baseUrl: `${url}/v1` }
    const at = { updatedAt: '2026-01-01T00:00:00.000Z', tokenSource: 'manual' }
    const known = { settings: { provider: CLINE_PROVIDER, ...settings }, ...at }
    const providers = { [CLINE_PROVIDER]: known }
    const all = { version: 1, lastUsedProvider: CLINE_PROVIDER, modes: {}, providers }
    return { 'data/settings/providers.json': JSON.stringify(all) }
  },
  command(task, _stage, home) {
    // The agent continues a session only in a terminal.
    if (task === 'compact' || task === 'resume') return undefined
    const flags = ['--data-dir', join(home, 'data'), '-P', CLINE_PROVIDER, '-m', 'served']
    return { program: 'cline', args: [...flags, promptOf(task)], env: {} }
  },
}

const AIDER_FLAGS = (
  '--no-git --no-check-update --no-show-model-warnings --no-pretty --no-analytics --no-gitignore ' +
  '--no-show-release-notes --yes-always --no-auto-lint --map-tokens 0 --no-suggest-shell-commands ' +
  '--edit-format diff --model openai/gpt-4.1 --weak-model openai/gpt-4.1 --restore-chat-history'
).split(' ')

export const AIDER: Program = {
  script: {
    words: {
      work: `${NOTES}\n\`\`\`\n<<<<<<< SEARCH\n${WORDS.old}\n=======\n${WORDS.new}\n>>>>>>> REPLACE\n\`\`\`\n`,
    },
  },
  async command(task, { url, key }) {
    const limit = ['--max-chat-history-tokens', task === 'compact' ? '20' : '100000']
    const read = task === 'work' ? ['--file', NOTES, '--read', BIG] : []
    const shown = task === 'look' ? ['--file', PAINTED] : []
    return {
      program: join(await pythonOf('aider'), '../aider'),
      args: [...AIDER_FLAGS, ...limit, ...read, ...shown, '--message', promptOf(task)],
      env: {
        OPENAI_API_BASE: `${url}/v1`,
        OPENAI_API_KEY: key,
        LITELLM_LOCAL_MODEL_COST_MAP: 'True',
      },
    }
  },
}
