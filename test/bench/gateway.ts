/** The gateway under measurement: its configuration and its start. */
import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { MEASURED_CORE, type Process, startProcess, untilReady } from './processes.ts'

/** The key and the route that the load generator uses, for every target alike. */
export const KEY = 'gw_bench_k1_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG'
export const ROUTE = 'bench'

/** Every request is counted against these, and none is refused. */
const PLENTY = {
  requests_per_minute: 100_000_000,
  burst: 100_000_000,
  concurrent_requests: 1_000_000,
}

/** Each entry is a column of the table. What its function returns joins the `gw` section of the
    configuration, so that limits and budgets can be measured beside the bare gateway. */
export const VARIANTS: Readonly<Record<string, () => object>> = {
  gw: () => ({ rate_limits: { default: PLENTY } }),
}

export interface GatewayOptions {
  readonly name: string
  readonly main: string
  readonly root: string
  readonly directory: string
  readonly port: number
  readonly metricsPort: number
  readonly adminPort: number
  readonly upstreamPort: number
  readonly settings: object
}

/** Output goes to a file as it would in production: the access log is part of the cost. */
export async function startGateway(options: GatewayOptions): Promise<Process> {
  mkdirSync(options.directory)
  const file = join(options.directory, 'gateway.yaml')
  writeFileSync(file, JSON.stringify(configuration(options), null, 2)) // JSON is YAML as well.
  const started = startProcess({
    name: options.name,
    core: MEASURED_CORE,
    program: join(options.root, 'node_modules/.bin/node'),
    arguments: [options.main, '--config', file],
    outputFile: join(options.directory, 'output.log'),
    directory: options.root,
  })
  await untilReady(started, `http://127.0.0.1:${options.port}/readyz`)
  return started
}

function configuration(options: GatewayOptions): object {
  const endpoint = `http://127.0.0.1:${options.upstreamPort}`
  const hash = createHash('sha256').update(KEY).digest('hex')
  return {
    apiVersion: 'inference.gw/v1',
    kind: 'GatewayConfig',
    gw: {
      gateway: {
        listen_address: '127.0.0.1',
        listen_port: options.port,
        metrics_port: options.metricsPort,
        admin_port: options.adminPort,
      },
      upstreams: [
        { name: 'up', provider: 'vllm', endpoint, model: 'bench-model', context_window: 32_768 },
      ],
      routes: [{ name: ROUTE, strategy: 'single', primary: 'up', upstreams: ['up'] }],
      api_keys: [{ id: 'k1', tenant: 't1', hash: `sha256:${hash}`, routes: ['*'] }],
      ...options.settings,
    },
  }
}
