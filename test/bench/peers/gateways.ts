/** Portkey, which requires no key, and LiteLLM with its own. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { KEY, ROUTE } from '../gateway.ts'
import { MEASURED_CORE, startProcess } from '../processes.ts'
import { bring, bringPython, type Peer, run } from './peer.ts'

const PORTKEY = '1.15.2'
export const LITELLM = '1.106.0'

export function bringPortkey(): Peer {
  const home = bring(`portkey-${PORTKEY}`, (folder) =>
    run('npm', ['install', '--prefix', folder, `@portkey-ai/gateway@${PORTKEY}`]),
  )
  const program = join(home, 'node_modules/@portkey-ai/gateway/build/start-server.js')
  return {
    name: 'portkey',
    title: `Portkey ${PORTKEY}`,
    healthPath: '/',
    start: ({ folder, port, upstreamPort }) => ({
      process: startProcess({
        name: 'portkey',
        core: MEASURED_CORE,
        program: process.execPath,
        arguments: [program, `--port=${port}`, '--headless'],
        outputFile: join(folder, 'output.log'),
        directory: folder,
      }),
      headers: {
        'x-portkey-provider': 'openai',
        'x-portkey-custom-host': `http://127.0.0.1:${upstreamPort}/v1`,
      },
    }),
  }
}

export function bringLiteLlm(): Peer {
  const programs = bringPython('litellm', LITELLM, 'litellm[proxy]')
  return {
    name: 'litellm',
    title: `LiteLLM ${LITELLM}`,
    healthPath: '/health/liveliness',
    start: ({ folder, port, upstreamPort }) => {
      const file = join(folder, 'config.yaml')
      writeFileSync(file, JSON.stringify(liteLlmConfiguration(upstreamPort))) // JSON is YAML as well.
      const started = startProcess({
        name: 'litellm',
        core: MEASURED_CORE,
        program: join(programs, 'litellm'),
        arguments: ['--config', file, '--port', String(port), '--telemetry', 'False'],
        outputFile: join(folder, 'output.log'),
        directory: folder,
      })
      return { process: started }
    },
  }
}

function liteLlmConfiguration(upstreamPort: number) {
  const parameters = {
    model: 'openai/bench-model',
    api_base: `http://127.0.0.1:${upstreamPort}/v1`,
    api_key: 'none',
  }
  return {
    model_list: [{ model_name: ROUTE, litellm_params: parameters }],
    general_settings: { master_key: KEY },
  }
}
