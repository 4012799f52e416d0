/** Where a gateway listens: from its configuration and the environment, and in the words of its log. */
import { adminFolder } from '../admin/place.ts'
import type { Listening } from '../admin/routes.ts'
import { VERSION } from '../base/version.ts'
import type { Snapshot } from '../config/snapshot.ts'
import { listenAddress, POD_ADMIN_PORT } from '../schema/constants.ts'
import type { Environment } from '../wire/credential-source.ts'
import type { Seat } from '../workers/seat.ts'
import type { Addresses } from './listeners.ts'

/** Alone on a machine only loopback is open by default; an image sets GW_LISTEN_ADDRESS. */
export function addressesOf({ section }: Snapshot, env: Environment, isPod: boolean): Addresses {
  const { listen_address, listen_port, metrics_port, admin_port } = section.gateway
  const admin = env.GW_ADMIN_PORT || admin_port || (isPod ? POD_ADMIN_PORT : undefined)
  return {
    listen_address: listenAddress(
      { listen_address: listen_address ?? (env.GW_LISTEN_ADDRESS || undefined) },
      isPod ? 'pod' : 'file',
    ),
    listen_port: Number(env.GW_LISTEN_PORT || listen_port),
    metrics_port: Number(env.GW_METRICS_PORT || metrics_port),
    admin_port: admin === undefined ? undefined : Number(admin),
    admin_folder: adminFolder(env),
  }
}

/** A URL does not show the default port of its scheme. */
export function portIn(url: string): number {
  const { port, protocol } = new URL(url)
  return Number(port || (protocol === 'https:' ? 443 : 80))
}

export function startSentence(name: string, { clients, metrics, admin }: Listening): string {
  const asked = admin.length === 0 ? 'nowhere' : admin.join(' and ')
  return `gw ${VERSION} serves ${name}. Clients: ${clients}/v1, metrics: ${metrics}/metrics, admin: ${asked}`
}

export function workerSentence({ number, of, port }: Seat): string {
  return `Worker ${number} of ${of} serves port ${port}.`
}

/** For programs that read the log. */
export function factsOf(addresses: Addresses, { admin }: Listening) {
  const { listen_address, listen_port, metrics_port, admin_port } = addresses
  const socket = admin.find((place) => place.startsWith('unix:'))
  const admin_socket = socket?.slice('unix:'.length)
  return { version: VERSION, listen_address, listen_port, metrics_port, admin_port, admin_socket }
}
