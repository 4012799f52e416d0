/** The tables of the tool on terminals of 80 and 120 columns, with names as long as teams give them. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { after, test } from 'node:test'
import { aKey } from '../helpers/a-key.ts'
import { Front, startFront, startUpstream } from '../helpers/fake-upstream.ts'
import { gw } from '../helpers/gw-here.ts'

const UPSTREAMS = [
  'openai-production-europe-west-4-primary',
  'azure-openai-sweden-central-fallback-2',
]
const ROUTE = 'customer-support-assistant-production'
const TENANT = 'platform-engineering-internal-tools'
const KEY_ID = 'platform-engineering-continuous-integration'
const LIMITS = { requests_per_minute: 60_000, burst: 20_000, concurrent_requests: 5000 }

const GUARDRAIL = 'personal-data-of-customers-in-europe'
const PAYER = 'platform-engineering-copies-of-requests'
const POLICY = 'fair-use-of-all-internal-applications'
const NEXT = 'openai-production-europe-west-4-candidate'
const ROLLED = 'customer-support-assistant-being-rolled-out'

const upstream = await startUpstream()
const key = aKey({ id: KEY_ID, tenant: TENANT, routes: [ROUTE] })
const { process: gateway } = await startFront({
  upstreams: [...UPSTREAMS, NEXT].map((name) => ({ name, endpoint: upstream.url })),
  routes: [
    { name: ROUTE, strategy: 'round_robin', upstreams: UPSTREAMS, verify: true },
    {
      ...{ name: ROLLED, strategy: 'single', primary: UPSTREAMS[0] },
      rollout: { to: UPSTREAMS[1] },
      shadow: { upstream: NEXT, tenant: PAYER },
    },
  ],
  api_keys: [key.record],
  guardrails: [{ name: GUARDRAIL, endpoint: upstream.url, stage: 'both' }],
  limits: [{ name: POLICY, for: { tenant: TENANT }, tokens_per_minute: 5_000_000 }],
  rate_limits: { default: LIMITS },
  budgets: [{ tenant: TENANT, tokens_per_day: 50_000_000 }],
})
const front = new Front(gateway, key.key)
const folder = await mkdtemp(join(tmpdir(), 'gw-test-'))
after(async () => {
  await Promise.all([front.process.stop(), upstream.close()])
  await rm(folder, { recursive: true })
})
const answer = await front.chat({ model: ROUTE })
assert.equal(answer.status, 200, answer.text)
const { traces } = await front.admin('/traces?limit=1')
const REQUEST = String(traces[0].request_id)
const NAMES = [...UPSTREAMS, ROUTE, TENANT, KEY_ID, REQUEST, GUARDRAIL, POLICY, ROLLED, PAYER, NEXT]

const FILE = front.process.configFile
const put = async (name: string, text: string) => {
  await writeFile(join(folder, name), text)
  return join(folder, name)
}
const FOREIGN = await put(
  'litellm.yaml',
  `model_list:\n  - {model_name: ${ROUTE}, litellm_params: {model: openai/${UPSTREAMS[0]}}}\n`,
)
const OWN = await put('gw.yaml', await readFile(FILE, 'utf8'))
const KEYS = await put(
  'keys.csv',
  `token,key_alias,team_alias,models\n${'0'.repeat(64)},${TENANT},${TENANT},{${ROUTE}}\n`,
)
const PRICES = await put(
  'prices.json',
  JSON.stringify({ m: { input_cost_per_token: 1e-6, output_cost_per_token: 1e-6 } }),
)
const TRAFFIC = await put(
  'traffic.jsonl',
  `${JSON.stringify({ path: '/v1/chat/completions', body: { model: ROUTE, messages: [] } })}\n`,
)
const DIFF = ['--traffic', TRAFFIC, '--from', front.process.url, '--url', front.process.url]
process.env.GW_KEY = key.key
process.env.GW_FROM_KEY = key.key

/** Commands by the file that prints their tables. */
const COMMANDS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  'commands/documents/expose': [['expose', '--for', 'nginx', '--host', 'a.test', '-o', 'table']],
  'commands/tenants/keys-import': [['keys', 'import', 'litellm', KEYS, '--file', OWN]],
  'commands/version': [['version']],
  'doctor/doctor': [['doctor', '--file', FILE]],
  'keys/view': [['keys', 'list']],
  'moving/report': [['import', 'litellm', FOREIGN, '-o', 'table']],
  'pricing/table': [['pricing', 'check', PRICES, '--file', FILE]],
  'printing/auxiliaries': [['status']],
  'printing/sections': [['config', 'show', '--resolved', '--file', FILE, '-o', 'table']],
  'printing/tables/explanation': [['explain', '--route', ROUTE, '--tenant', TENANT]],
  'printing/tables/limits-table': [
    ['limits', 'show', '--tenant', TENANT],
    ['limits', 'show', '--limit', POLICY],
  ],
  'status/models': [['models']],
  'status/rollouts': [
    ['rollout', 'status'],
    ['shadow', 'status'],
  ],
  'status/stand-alone': [['status', '-o', 'wide']],
  'status/upstreams-table': [['status']],
  'status/verified': [['status']],
  'top/show': [['top', '--once']],
  'traces/list': [['trace', 'list']],
  'traffic/table': [['diff', ...DIFF, '-o', 'wide']],
  'trials/limits': [['limits', 'test', '--tenant', TENANT, '--rate', '60', '--duration', '1s']],
  'trials/tokens': [['tokens', 'verify', UPSTREAMS[0] ?? '']],
  'trials/upstream': [['upstream', 'test']],
  'usage/forecast': [['usage', '--forecast']],
  'usage/table': [
    ['usage', '--by', 'tenant,model'],
    ['usage', '--by', 'key,route,upstream'],
  ],
  'why/show': [['why']],
}
/** They need a cluster, or a vector store: the first column of each is a name, as in the others. */
const ELSEWHERE = ['printing/tables/table', 'status/cluster', 'trials/context-answer']
/** Commands about files, or with other addresses. */
const WITHOUT_ADMIN = ['import', 'expose', 'doctor', 'config', 'diff', 'pricing', 'keys import']
/** They end with 1 if their answer is no. */
const MAY_SAY_NO = ['doctor', 'pricing', 'diff', 'why', 'tokens', 'limits']

test('every file that prints a table is tried by a command', () => {
  const root = join(import.meta.dirname, '../../cli')
  const files = globSync('**/*.ts', { cwd: root })
  const printing = files.filter((file) => printsTable(join(root, file)))
  const tried = [...Object.keys(COMMANDS), ...ELSEWHERE].map((file) => `${file}.ts`)
  assert.deepEqual(tried.toSorted(), printing.toSorted())
})

for (const columns of [80, 120]) {
  for (const [file, command] of Object.entries(COMMANDS).flatMap(([file, commands]) =>
    commands.map((command) => [file, command] as const),
  )) {
    const words = command.slice(0, 4).map((word) => basename(word))
    test(`gw ${words.join(' ')} keeps names whole at ${columns} columns (${file})`, async () => {
      const { code, stdout, stderr } = await onTerminal(columns, command)
      const codes = MAY_SAY_NO.includes(command[0] ?? '') ? [0, 1] : [0]
      assert.ok(codes.includes(code ?? -1), stderr)
      const table = stdout.split('\n').filter((line) => / {2}/.test(line))
      assert.ok(table.length > 0, stdout)
      for (const line of table) {
        assert.doesNotMatch(line, /^…/, `a row without its name in:\n${stdout}`)
        for (const word of line.split(/[\s,;:…()/]+/)) {
          const broken = NAMES.find((name) => isPiece(word, name))
          assert.equal(broken, undefined, `${word} in:\n${stdout}`)
        }
      }
    })
  }
}

function printsTable(file: string): boolean {
  return /\bprintTable\(/.test(readFileSync(file, 'utf8'))
}

function isPiece(word: string, name: string): boolean {
  return (
    word.length > 7 &&
    word.includes('-') &&
    word !== name &&
    name.includes(word) &&
    !NAMES.includes(word)
  )
}

async function onTerminal(columns: number, command: readonly string[]) {
  const { isTTY, columns: before } = process.stdout
  const { NO_COLOR } = process.env
  Object.assign(process.stdout, { isTTY: true, columns })
  process.env.NO_COLOR = '1'
  try {
    const isElsewhere = WITHOUT_ADMIN.some((start) => command.join(' ').startsWith(start))
    const admin = isElsewhere ? [] : ['--admin', front.process.adminUrl]
    return await gw(...command, ...admin)
  } finally {
    Object.assign(process.stdout, { isTTY, columns: before })
    if (NO_COLOR === undefined) delete process.env.NO_COLOR
    else process.env.NO_COLOR = NO_COLOR
  }
}
