/**
 * A model server whose silence lasts as long as a request asks, gateways in front of it, and
 * requests from the node.
 */
import { type Asking, askFor } from '../helpers/fake-upstream.ts'
import { gateway, gatewayKey, server } from './objects.ts'
import { SPACE } from './spaces.ts'
import { gatewayReady, rolledOut, type World } from './world.ts'

const MODEL = 'silent'
/** No timeout of the gateway ends a silence. */
const NEVER_SECONDS = 3600

export async function startSilentModel(world: World): Promise<void> {
  const command = ['node', '/client/silent.ts']
  await world.apply(...server(MODEL, { image: world.image, command }))
  await rolledOut(world, 'deployment', MODEL)
}

export async function stopSilentModel(world: World): Promise<void> {
  const kinds = ['deployment,service', MODEL, '--ignore-not-found']
  await world.kubectl(['-n', SPACE, 'delete', ...kinds])
}

export interface SilentOptions {
  readonly replicas?: number
  /** Between two heartbeats; absent: no heartbeats. */
  readonly heartbeatSeconds?: number
}

/** A gateway as this machine, its node, reaches it. */
export interface Reached {
  /** With the address of its Service. */
  readonly origin: string
  readonly key: string
}

export async function startSilentGateway(
  world: World,
  name: string,
  { replicas = 1, heartbeatSeconds = NEVER_SECONDS }: SilentOptions,
): Promise<Reached> {
  const { key, object } = gatewayKey(name, 'acme')
  const upstream = {
    ...{ name: MODEL, provider: 'vllm', endpoint: `http://${MODEL}:9000`, model: MODEL },
    ...{ context_window: 131_072, idle_timeout_seconds: NEVER_SECONDS },
  }
  const gw = {
    gateway: {
      request_timeout_seconds: NEVER_SECONDS,
      sse: { heartbeat_seconds: heartbeatSeconds },
    },
    upstreams: [upstream],
    routes: [{ name: 'chat', strategy: 'single', primary: MODEL }],
  }
  await world.apply(gateway(name, { gw, spec: { replicas } }), object)
  await gatewayReady(world, name)
  const { clusterIP } = (await world.read('service', name)).spec as { clusterIP: string } // As Kubernetes says.
  return { key, origin: `http://${clusterIP}` }
}

/**
 * An answer with a silence of this length: a stream after its first word, another answer before its
 * beginning.
 */
export function askSilent({ origin, key }: Reached, seconds: number, stream: boolean): Asking {
  return askFor(origin, key, { stream, messages: [{ role: 'user', content: String(seconds) }] })
}
