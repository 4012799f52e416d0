/** onwards, a proxy in Rust: it checks a key with a rate, and reads its configuration again when that changes. */
import { join } from 'node:path'
import { KEY, ROUTE } from '../gateway.ts'
import { MEASURED_CORE, startProcess } from '../processes.ts'
import { bringCargo, type Peer, type PeerOptions, replace } from './peer.ts'

const ONWARDS = '1.2.0'
const PLENTY = 1_000_000

export function bringOnwards(): Peer {
  const program = join(bringCargo('onwards', ONWARDS), 'onwards')
  return {
    name: 'onwards',
    title: `onwards, key and rate ${ONWARDS}`,
    healthPath: '/v1/models',
    start: (options) => {
      const { folder, port, secondPort } = options
      const file = join(folder, 'config.json')
      replace(file, configuration(options, KEY))
      const started = startProcess({
        name: 'onwards',
        core: MEASURED_CORE,
        program,
        arguments: ['-f', file, '--port', String(port), '--metrics-port', String(secondPort)],
        outputFile: join(folder, 'output.log'),
        directory: folder,
      })
      return {
        process: started,
        revoke: () => replace(file, configuration(options, 'another-key')),
      }
    },
  }
}

function configuration({ upstreamPort, requestsMax }: PeerOptions, key: string) {
  const rate =
    requestsMax === undefined
      ? { requests_per_second: PLENTY, burst_size: PLENTY }
      : { requests_per_second: 1, burst_size: requestsMax }
  const url = `http://127.0.0.1:${upstreamPort}/v1`
  return {
    auth: { global_keys: [], key_definitions: { t1: { key, rate_limit: rate } } },
    targets: { [ROUTE]: { url, keys: [key] } },
  }
}
