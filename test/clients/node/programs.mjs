/** Runs the programs Codex and Claude Code, each case in an empty home folder. */
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { baseURL, run, url, version } from './cases.mjs'

const home = mkdtempSync(join(tmpdir(), 'gw-client-'))
process.on('exit', () => rmSync(home, { recursive: true, force: true }))
const work = join(home, 'work')
mkdirSync(work)
writeFileSync(
  join(home, 'config.toml'),
  `model_provider = "gw"
[model_providers.gw]
name = "gw"
base_url = "${baseURL}"
env_key = "GW_KEY"
wire_api = "responses"
stream_idle_timeout_ms = 1900
`,
)

const COMMANDS = {
  codex: (key, model) => ({
    args: [
      'exec',
      '--skip-git-repo-check',
      '--json',
      '-s',
      'danger-full-access',
      '-m',
      model,
      'hi',
    ],
    env: { CODEX_HOME: home, GW_KEY: key },
  }),
  claude: (key, model) => ({
    args: ['-p', 'hi', '--model', model, '--output-format', 'stream-json', '--verbose'].concat(
      '--include-partial-messages',
      ['--allowedTools', 'Bash'],
    ),
    env: {
      HOME: home,
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: key,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      CLAUDE_CODE_MAX_RETRIES: '2',
    },
  }),
}

/** Reads the program's lines of JSON; calls `heard` with each. */
function start(key, model, heard) {
  const { args, env } = COMMANDS[version](key, model)
  const program = join(process.env.GW_CLIENTS, 'node_modules/.bin', version)
  const child = spawn(program, args, {
    cwd: work,
    env: { PATH: process.env.PATH, HOME: home, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  const timer = setTimeout(() => process.kill(-child.pid, 'SIGKILL'), 60_000)
  let text = ''
  const lines = []
  child.stdout.setEncoding('utf8').on('data', (piece) => {
    const whole = (text + piece).split('\n')
    text = whole.pop()
    for (const line of whole.filter((one) => one.startsWith('{'))) {
      lines.push(JSON.parse(line))
      heard?.(lines.at(-1))
    }
  })
  const over = new Promise((resolve) =>
    child.on('close', () => {
      clearTimeout(timer)
      resolve(lines)
    }),
  )
  return { over, kill: () => process.kill(-child.pid, 'SIGKILL') }
}

function resultOf(lines) {
  if (version === 'claude') {
    const last = lines.find(({ type }) => type === 'result') ?? {}
    const { usage, is_error: failed, result, api_error_status: status } = last
    if (failed || result === undefined)
      throw Object.assign(new Error(result ?? 'no result'), { status })
    return { text: result, usage: usage.input_tokens + usage.output_tokens }
  }
  const failed = lines.find(({ type }) => type === 'turn.failed')
  if (failed) {
    const { message } = failed.error
    throw Object.assign(new Error(message), {
      status: Number(/\b(4\d\d|5\d\d)\b/.exec(message)?.[1]),
    })
  }
  const said = lines.filter(({ item }) => item?.type === 'agent_message')
  const { usage } = lines.find(({ type }) => type === 'turn.completed') ?? {}
  const total = usage && usage.input_tokens + usage.output_tokens
  return { text: said.at(-1)?.item.text, usage: total }
}

const ask = async (key, model) => resultOf(await start(key, model).over)

await run({
  ask,
  async *stream(key, model) {
    const { text, usage } = await ask(key, model)
    yield text
    yield { usage }
  },
  tools: ask,
  async leave(key, model) {
    // Codex shows a text only when it is complete, so the time of the first words is unknown.
    const begun = Promise.withResolvers()
    const asking = start(key, model, ({ type, event }) => {
      if (type === 'turn.started') setTimeout(begun.resolve, 1500)
      if (event?.type === 'content_block_delta') begun.resolve()
    })
    await begun.promise
    const at = Date.now()
    asking.kill()
    await asking.over
    return { at }
  },
})
