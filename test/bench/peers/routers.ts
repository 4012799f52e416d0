/** Routers in Rust for model servers: those that can check a key of clients do. */
import { join } from 'node:path'
import { KEY } from '../gateway.ts'
import { MEASURED_CORE, startProcess } from '../processes.ts'
import { bringPython, type Peer } from './peer.ts'

const SMG = '1.13.0'
const SGLANG_ROUTER = '0.3.2'
const VLLM_ROUTER = '0.1.17'

interface Router {
  readonly name: string
  readonly version: string
  readonly title: string
  /** Its subcommand, and how it gets a key. */
  readonly command: readonly string[]
}

const ROUTERS: readonly Router[] = [
  {
    name: 'smg',
    version: SMG,
    title: 'smg, key of a tenant',
    command: ['launch', '--tenant-api-key', `t1:${KEY}`],
  },
  {
    name: 'sglang-router',
    version: SGLANG_ROUTER,
    title: 'sglang-router, key',
    command: ['launch', '--api-key', KEY],
  },
  { name: 'vllm-router', version: VLLM_ROUTER, title: 'vllm-router, no key', command: [] },
]

export function bringRouters(): Peer[] {
  return ROUTERS.map(({ name, version, title, command }) => {
    const program = join(bringPython(name, version), name)
    return {
      name,
      title: `${title} ${version}`,
      healthPath: '/readiness',
      start: ({ folder, port, secondPort, upstreamPort, requestsMax }) => ({
        process: startProcess({
          name,
          core: MEASURED_CORE,
          program,
          arguments: [
            ...command,
            ...['--host', '127.0.0.1', '--port', String(port)],
            ...['--prometheus-host', '127.0.0.1', '--prometheus-port', String(secondPort)],
            ...['--worker-urls', `http://127.0.0.1:${upstreamPort}`, '--policy', 'round_robin'],
            ...(requestsMax === undefined ? [] : atMost(requestsMax)),
          ],
          outputFile: join(folder, 'output.log'),
          directory: folder,
        }),
      }),
    }
  })
}

/** Their cap is of running requests; what is beyond it does not wait. */
function atMost(requestsMax: number): string[] {
  return ['--max-concurrent-requests', String(requestsMax), '--queue-size', '0']
}
