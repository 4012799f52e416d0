/** The tables of the tool on terminals of 80 and 120 columns, with names as long as teams give them. */
import assert from 'node:assert/strict'
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

const upstream = await startUpstream()
const key = aKey({ id: KEY_ID, tenant: TENANT, routes: [ROUTE] })
const { process: gateway } = await startFront({
  upstreams: UPSTREAMS.map((name) => ({ name, endpoint: upstream.url })),
  routes: [{ name: ROUTE, strategy: 'round_robin', upstreams: UPSTREAMS }],
  api_keys: [key.record],
  rate_limits: { default: LIMITS },
  budgets: [{ tenant: TENANT, tokens_per_day: 50_000_000 }],
})
const front = new Front(gateway, key.key)
after(() => Promise.all([front.process.stop(), upstream.close()]))
const answer = await front.chat({ model: ROUTE })
assert.equal(answer.status, 200, answer.text)
const { traces } = await front.admin('/traces?limit=1')
const REQUEST = String(traces[0].request_id)
const NAMES = [...UPSTREAMS, ROUTE, TENANT, KEY_ID, REQUEST]

const COMMANDS: readonly (readonly string[])[] = [
  ['status'],
  ['models'],
  ['trace', 'list'],
  ['upstream', 'test'],
  ['usage', '--by', 'tenant,model'],
  ['usage', '--by', 'key,route,upstream'],
  ['limits', 'show', '--tenant', TENANT],
  ['explain', '--route', ROUTE, '--tenant', TENANT],
  ['keys', 'list'],
  ['top', '--once'],
  ['version'],
]

for (const columns of [80, 120]) {
  for (const command of COMMANDS) {
    test(`gw ${command[0]} keeps names whole at ${columns} columns: ${command.slice(1, 3).join(' ')}`, async () => {
      const { code, stdout, stderr } = await onTerminal(columns, command)
      assert.equal(code, 0, stderr)
      const table = stdout.split('\n').filter((line) => / {2}/.test(line))
      assert.ok(table.length > 0, stdout)
      for (const line of table) {
        for (const word of line.split(/[\s,;:…()/]+/)) {
          const broken = NAMES.find((name) => isPiece(word, name))
          assert.equal(broken, undefined, `${word} in:\n${stdout}`)
        }
      }
    })
  }
}

function isPiece(word: string, name: string): boolean {
  return word.length > 7 && word !== name && name.includes(word) && !NAMES.includes(word)
}

async function onTerminal(columns: number, command: readonly string[]) {
  const { isTTY, columns: before } = process.stdout
  const { NO_COLOR } = process.env
  Object.assign(process.stdout, { isTTY: true, columns })
  process.env.NO_COLOR = '1'
  try {
    return await gw(...command, '--admin', front.process.adminUrl)
  } finally {
    Object.assign(process.stdout, { isTTY, columns: before })
    if (NO_COLOR === undefined) delete process.env.NO_COLOR
    else process.env.NO_COLOR = NO_COLOR
  }
}
