/** The guides: their settings are valid, and equal to those with which clients and proxies are tried. */
import assert from 'node:assert/strict'
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { after, test } from 'node:test'
import { lexer, type Tokens } from 'marked'
import { parse, parseAllDocuments, stringify } from 'yaml'
import { CLAUDE_CODE, CODEX } from './clients/sessions/agents.ts'
import type { Stage } from './clients/sessions/stage.ts'
import { gw } from './helpers/gw-here.ts'
import { nginxRecipe } from './helpers/nginx.ts'

const ROOT = join(import.meta.dirname, '..')
const folder = mkdtempSync(join(tmpdir(), 'gw-guides-'))
after(() => rmSync(folder, { recursive: true }))

const textOf = (file: string) => readFileSync(join(ROOT, file), 'utf8')
const guides = globSync('cli/docs/guides/*.md', { cwd: ROOT })

function blocks(guide: string, lang: string): string[] {
  return lexer(textOf(`cli/docs/guides/${guide}.md`))
    .filter((token): token is Tokens.Code => token.type === 'code' && token.lang === lang)
    .map(({ text }) => text)
}

const STAGE = { url: 'http://127.0.0.1:8080', key: 'YOUR_KEY' } as Stage

test('the variables of Claude Code are those of its sessions', async () => {
  const shown = blocks('clients', 'sh')[0] ?? ''
  const { env, args } = (await CLAUDE_CODE.command('work', STAGE, folder)) ?? assert.fail()
  for (const [, name = '', value] of shown.matchAll(/^export (\w+)=(.*)$/gm))
    assert.equal(env[name], value, name)
  const { ANTHROPIC_BASE_URL, ANTHROPIC_API_KEY } = env
  for (const value of [
    `ANTHROPIC_BASE_URL=${ANTHROPIC_BASE_URL}`,
    `ANTHROPIC_API_KEY=${ANTHROPIC_API_KEY}`,
  ])
    assert.ok(shown.includes(value), value)
  assert.ok(args.join(' ').includes('--model claude-opus-4-8'))
  assert.match(shown, /^claude --model claude-opus-4-8$/m)
})

test('the file of Codex is that of its sessions, and of the clients that are tried', async () => {
  const [shown = ''] = blocks('clients', 'toml')
  const files = CODEX.files?.(STAGE) ?? {}
  const played = String(files['config.toml']).split('\n')
  const tried = textOf('test/clients/node/programs.mjs')
  for (const line of shown.split('\n'))
    assert.ok(
      played.includes(line) || tried.includes(line) || /^stream_max_retries/.test(line),
      line,
    )
  // A trial alone needs it.
  const missing = played.filter((line) => !shown.includes(line))
  assert.deepEqual(missing, ['tool_output_token_limit = 100000'])
  const { env } = (await CODEX.command('work', STAGE, folder)) ?? assert.fail()
  assert.equal(env.GW_KEY, STAGE.key)
  assert.match(textOf('dataplane/docs/clients.md'), /Set `stream_max_retries = 0` in its provider/)
})

for (const [what, lang, driver, call] of [
  ['LangChain for Python', 'python', 'python/langchain_chat.py', /ChatOpenAI\(.*\)/],
  ['LangChain', 'js', 'node/langchain.mjs', /new ChatOpenAI\(.*\)/],
  [
    'the Vercel AI SDK',
    'js',
    'node/ai-sdk.mjs',
    /const options = .*|createOpenAICompatible\(.*\)/g,
  ],
] as const) {
  test(`the snippet of ${what} makes its model as the driver of its trial does`, () => {
    const text = textOf(`test/clients/${driver}`)
    const shown = blocks('clients', lang).join('\n')
    const calls = shown.match(new RegExp(call, 'g'))?.filter((found) => text.includes(found)) ?? []
    assert.equal(calls.length, call.flags === 'g' ? 2 : 1, shown)
  })
}

test('the settings of nginx are those that the tool prints', async () => {
  const [shown = ''] = blocks('proxies', 'nginx')
  for (const [name, value] of Object.entries(await nginxRecipe()))
    assert.ok(shown.includes(`${name} ${value};`), `${name} ${value}`)
})

test('the way back to an older release is that of the chart', () => {
  const annotated = blocks('upgrade', 'sh').filter((text) => text.includes('allow-downgrade'))
  assert.equal(annotated.length, 1)
  assert.ok(textOf('charts/gw/docs/reference.md').includes(annotated[0] ?? ''))
})

test('the endpoint of the GPU guide is the Service of its model server, and the pods get its places', () => {
  const [server = '', gateway = ''] = blocks('gpus', 'yaml')
  const [deployment, service] = parseAllDocuments(server).map((document) => document.toJS())
  const { spec, gw: settings } = parse(gateway)
  const [upstream] = settings.upstreams
  const { name, namespace } = service.metadata
  const [port] = service.spec.ports
  assert.equal(upstream.endpoint, `http://${name}.${namespace}.svc:${port.port}`)
  assert.deepEqual(service.spec.selector, deployment.spec.template.metadata.labels)
  const [container] = deployment.spec.template.spec.containers
  assert.equal(container.ports[0].containerPort, port.port)
  assert.ok(container.args.includes(`--model=${upstream.model}`))
  const places = Number(/--max-num-seqs=(\d+)/.exec(container.args.join(' '))?.[1])
  assert.ok(spec.replicas * upstream.max_queue_depth <= places)
})

test('every alert of the guide is one of the chart', () => {
  const rules = textOf('charts/gw/files/alerts.yaml')
  const named = textOf('cli/docs/guides/alerts.md').match(/\bGw[A-Z]\w+/g) ?? []
  assert.ok(named.length > 5)
  for (const name of new Set(named)) assert.match(rules, new RegExp(`alert: ${name}\\b`), name)
})

/** The document around a part of one. */
const WHOLE = {
  apiVersion: 'inference.gw/v1',
  kind: 'GatewayConfig',
  gw: {
    upstreams: [{ name: 'one', provider: 'vllm', endpoint: 'http://127.0.0.1:9', model: 'm' }],
    routes: ['chat', 'small'].map((name) => ({ name, strategy: 'single', primary: 'one' })),
  },
}
const VARIABLES = { REDIS_URL: 'redis://127.0.0.1:9', ALERT_WEBHOOK: 'https://hooks.example.com' }

for (const guide of guides.map((file) => basename(file, '.md'))) {
  const parts = blocks(guide, 'yaml').filter((text) => /^gw:$/m.test(text))
  if (parts.length === 0) continue
  test(`every setting of ${guide} is valid`, async () => {
    for (const part of parts) {
      const { gw: settings, ...rest } = parse(part)
      const file = join(folder, 'gw.yaml')
      writeFileSync(file, stringify({ ...WHOLE, ...rest, gw: { ...WHOLE.gw, ...settings } }))
      Object.assign(process.env, VARIABLES)
      const { code, stdout, stderr } = await gw('config', 'validate', '--file', file)
      assert.equal(code, 0, `${part}\n${stdout}${stderr}`)
    }
  })
}

test('every guide begins with what you do, and fits two screens or so', () => {
  for (const file of guides) {
    const text = textOf(file)
    const [first] = lexer(text).filter(({ type }) => type === 'paragraph')
    assert.match(first?.raw ?? '', /\b(?:You|Point|Start|Go)\b/, file)
    const own = text.replaceAll(/^```console\n[\s\S]*?^```$/gm, '').split('\n').length
    assert.ok(own <= 150, `${file}: ${own} lines`)
  }
})
