/**
 * LiteLLM with Redis and without its database, whose client downloads a program from a separate site: limits by its
 * custom auth, charges by its custom callback.
 */
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../../helpers/free-port.ts'
import { KEY, ROUTE } from '../gateway.ts'
import { LITELLM } from '../peers/gateways.ts'
import { bringPython } from '../peers/peer.ts'
import { MEASURED_CORE, startProcess } from '../processes.ts'
import { untilServing } from './one-process.ts'
import { aRedis } from './stores.ts'
import { MICRO, PRICE, type Running, type System, type Terms } from './system.ts'

const PLENTY = 1_000_000
const CHARGES = 'charges'
/** It requires one; only its admin API uses it here. */
const MASTER = `sk-${'7f3a91c5'.repeat(8)}`

export function bringLiteLlmSystem(): System {
  const program = join(bringPython('litellm', LITELLM, 'litellm[proxy]'), 'litellm')
  return {
    name: `LiteLLM ${LITELLM}, Redis`,
    cap: 'a rate of requests',
    isSlow: true,
    remark: 'its slots expire after an hour, by a constant of its limiter',
    lacks: {
      revocation:
        'its keys are in PostgreSQL, for which its client downloads a program from a separate site; so are its budgets',
    },
    startStore: aRedis,
    start: (terms) => start(program, terms),
  }
}

async function start(program: string, terms: Terms): Promise<Running> {
  const folder = mkdtempSync(join(tmpdir(), 'gw-governed-'))
  const port = await freePort()
  const file = join(folder, 'config.yaml')
  const charges = join(folder, CHARGES)
  writeFileSync(file, JSON.stringify(configuration(terms))) // JSON is YAML as well.
  writeFileSync(join(folder, 'governed.py'), moduleOf(terms))
  writeFileSync(charges, '')
  const started = startProcess({
    name: 'litellm',
    core: MEASURED_CORE,
    program,
    arguments: ['--config', file, '--port', String(port), '--telemetry', 'False'],
    outputFile: join(folder, 'output.log'),
    directory: folder,
  })
  const serving = await untilServing(started, { folder, port, healthPath: '/health/liveliness' })
  return {
    ...serving,
    async kill() {
      started.child.kill('SIGKILL')
      await serving.stop()
      return await start(program, terms)
    },
    async spent() {
      const lines = readFileSync(charges, 'utf8').split('\n')
      return lines.reduce((sum, line) => sum + Number(line), 0)
    },
  }
}

function configuration({ upstreamUrl, store }: Terms) {
  const parameters = {
    model: 'openai/served',
    api_base: `${upstreamUrl}/v1`,
    api_key: 'none',
    input_cost_per_token: PRICE.input * MICRO,
    output_cost_per_token: PRICE.output * MICRO,
    cache_read_input_token_cost: PRICE.cached_input * MICRO,
  }
  const { hostname, port } = new URL(store?.url ?? '')
  // Redis for its counters, without stored answers.
  const cache = { type: 'redis', host: hostname, port: Number(port), supported_call_types: [] }
  return {
    model_list: [{ model_name: ROUTE, litellm_params: parameters }],
    general_settings: { custom_auth: 'governed.user_api_key_auth', master_key: MASTER },
    litellm_settings: { callbacks: 'governed.recorder', cache: true, cache_params: cache },
  }
}

function moduleOf({ requestsMax = PLENTY, slots = PLENTY }: Terms): string {
  return `
from litellm.integrations.custom_logger import CustomLogger
from litellm.proxy._types import UserAPIKeyAuth

async def user_api_key_auth(request, api_key):
    if api_key != "${KEY}":
        raise Exception("unknown key")
    return UserAPIKeyAuth(
        api_key=api_key, rpm_limit=${requestsMax}, max_parallel_requests=${slots}
    )

class Recorder(CustomLogger):
    def record(self, kwargs):
        with open("${CHARGES}", "a") as file:
            file.write(str(kwargs.get("response_cost") or 0) + "\\n")

    async def async_log_success_event(self, kwargs, response_obj, start_time, end_time):
        self.record(kwargs)

    async def async_log_failure_event(self, kwargs, response_obj, start_time, end_time):
        self.record(kwargs)

recorder = Recorder()
`
}
