/** The instructions of the quickstart: every block works when you paste it into a shell. */

export interface Running {
  /** The address for clients, with /v1. */
  readonly baseUrl: string
  readonly metricsUrl: string
  readonly consoleUrl: string
  /** The port for clients, by which the tool finds the gateway. */
  readonly port: number
  readonly key: string
  readonly configFile: string
  readonly logFile: string
}

export function instructions(running: Running): string {
  const { baseUrl, metricsUrl, consoleUrl, port, key, configFile, logFile } = running
  return `\
The gateway is ready, in front of a simulated model server.

  Base URL       ${baseUrl}
  Key            ${key}
                 (a public demo key; everybody knows it)
  Model          chat, or its other name gpt-4o
  Configuration  ${configFile}  (save a change and it is in force; a line below says so)
  Log            ${logFile}
  Metrics        ${metricsUrl}
  Console        ${consoleUrl}
  Status         npx gw status --admin ${port}

Leave it running, and paste into a second terminal, in this folder, whichever you have the program for. Each is complete.

With curl (add -i to see what the gateway says in its headers):

${curl(running, '', '')}

The same as a stream:

${curl(running, ' --no-buffer', ',"stream":true')}

With OpenAI's SDK in Node; this folder has it, elsewhere npm install openai first:

${node(running)}

With OpenAI's SDK in Python, in a virtual environment after pip install openai:

${python(running)}

With Claude Code:

${claudeCode(running)}

With Codex:

${codex(running)}

Press Ctrl-C to stop.
`
}

function curl({ baseUrl, key }: Running, flags: string, members: string): string {
  return `\
curl${flags} ${baseUrl}/chat/completions \\
  -H 'Authorization: Bearer ${key}' \\
  -H 'Content-Type: application/json' \\
  -d '{"model":"chat","messages":[{"role":"user","content":"Hello there"}]${members}}'`
}

function python({ baseUrl, key }: Running): string {
  return `\
python3 - <<'END'
from openai import OpenAI

client = OpenAI(base_url="${baseUrl}", api_key="${key}")
answer = client.chat.completions.create(
    model="gpt-4o", messages=[{"role": "user", "content": "Hello there"}]
)
print(answer.choices[0].message.content)
END`
}

function node({ baseUrl, key }: Running): string {
  return `\
node --input-type=module - <<'END'
import OpenAI from 'openai'

const client = new OpenAI({ baseURL: '${baseUrl}', apiKey: '${key}' })
const answer = await client.chat.completions.create({
  model: 'gpt-4o',
  messages: [{ role: 'user', content: 'Hello there' }],
})
console.log(answer.choices[0].message.content)
END`
}

/** The simulator only repeats what it reads; a real upstream behind the route makes this an agent. */
function claudeCode({ baseUrl, key }: Running): string {
  return `\
ANTHROPIC_BASE_URL=${baseUrl.replace(/\/v1$/, '')} \\
ANTHROPIC_AUTH_TOKEN=${key} \\
claude --model chat`
}

function codex({ baseUrl, key }: Running): string {
  return `\
GW_KEY=${key} \\
codex -m chat -c model_provider=gw -c model_providers.gw.name=gw \\
  -c model_providers.gw.base_url=${baseUrl} \\
  -c model_providers.gw.env_key=GW_KEY -c model_providers.gw.wire_api=responses`
}
