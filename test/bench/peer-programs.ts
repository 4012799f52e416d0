/** Other gateways, at a fixed version each: brought into the user's cache, configured for the same upstream, started. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { KEY, ROUTE } from './gateway.ts'
import { MEASURED_CORE, type Process, startProcess } from './processes.ts'

export interface PeerOptions {
  readonly folder: string
  readonly port: number
  /** Base URL of the model server, with its version. */
  readonly upstream: string
}

export interface Peer {
  readonly name: string
  readonly title: string
  readonly healthPath: string
  start(options: PeerOptions): {
    readonly process: Process
    readonly headers: Readonly<Record<string, string>>
  }
}

const PORTKEY = '1.15.2'
const LITELLM = '1.100.0'
const CACHE = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'gw-test')

export function bringPortkey(): Peer {
  const home = join(CACHE, `portkey-${PORTKEY}`)
  bring(home, () => run('npm', ['install', '--prefix', home, `@portkey-ai/gateway@${PORTKEY}`]))
  const program = join(home, 'node_modules/@portkey-ai/gateway/build/start-server.js')
  return {
    name: 'portkey',
    title: `Portkey ${PORTKEY}`,
    healthPath: '/',
    start: ({ folder, port, upstream }) => ({
      process: startProcess({
        name: 'portkey',
        core: MEASURED_CORE,
        program: process.execPath,
        arguments: [program, `--port=${port}`, '--headless'],
        outputFile: join(folder, 'output.log'),
        directory: folder,
      }),
      headers: { 'x-portkey-provider': 'openai', 'x-portkey-custom-host': upstream },
    }),
  }
}

export function bringLiteLlm(): Peer {
  const home = join(CACHE, `litellm-${LITELLM}`)
  bring(home, () => {
    run('python3', ['-m', 'venv', home])
    run(join(home, 'bin/pip'), ['install', '--quiet', `litellm[proxy]==${LITELLM}`])
  })
  return {
    name: 'litellm',
    title: `LiteLLM ${LITELLM}`,
    healthPath: '/health/liveliness',
    start: ({ folder, port, upstream }) => {
      const file = join(folder, 'config.yaml')
      writeFileSync(file, JSON.stringify(liteLlmConfiguration(upstream))) // JSON is YAML as well.
      const started = startProcess({
        name: 'litellm',
        core: MEASURED_CORE,
        program: join(home, 'bin/litellm'),
        arguments: ['--config', file, '--port', String(port), '--telemetry', 'False'],
        outputFile: join(folder, 'output.log'),
        directory: folder,
      })
      return { process: started, headers: {} }
    },
  }
}

function liteLlmConfiguration(upstream: string) {
  const parameters = { model: 'openai/bench-model', api_base: upstream, api_key: 'none' }
  return {
    model_list: [{ model_name: ROUTE, litellm_params: parameters }],
    general_settings: { master_key: KEY },
  }
}

/** A folder that was not finished is begun anew. */
function bring(home: string, install: () => void): void {
  const done = join(home, 'complete')
  if (existsSync(done)) return
  rmSync(home, { recursive: true, force: true })
  mkdirSync(home, { recursive: true })
  install()
  writeFileSync(done, '')
}

function run(program: string, programArguments: readonly string[]): void {
  execFileSync(program, programArguments, { stdio: 'inherit' })
}
