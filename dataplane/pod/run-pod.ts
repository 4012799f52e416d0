/** The gateway of a pod: starts with the mounted bundle, or waits for the first push, and follows both. */
import { once } from 'node:events'
import type { Server } from 'node:net'
import { hostname } from 'node:os'
import { systemClock } from '../base/clock.ts'
import type { Loaded } from '../config/apart/loaded.ts'
import { hostOf } from '../config/document/source.ts'
import { compile } from '../config/snapshot.ts'
import { PUSH_PORT } from '../delivery/signed.ts'
import type { Activation } from '../gateway/activation.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { environmentFault } from '../process/environment.ts'
import { type Fault, ListenError } from '../process/listen-error.ts'
import { complain, serve } from '../process/run.ts'
import { createLog, standardOutput } from '../telemetry/log.ts'
import type { Environment } from '../wire/credential-source.ts'
import type { Crew } from '../workers/crew.ts'
import { Desk } from '../workers/desk.ts'
import { Pod } from './pod.ts'
import { createPushServer } from './push.ts'
import { RelayedPod, takePushesOf } from './relayed-pod.ts'
import { createWaitingServer } from './waiting.ts'

/** The host's settings in a pod; the environment overrides them. */
const POD_DEFAULTS: Environment = {
  GW_DRAIN_DELAY_SECONDS: '10',
  GW_CONNECTION_AGE_SECONDS: '300',
}
/** Default port for clients. */
const LISTEN_PORT = 8080

/** Runs the gateway of a mounted bundle until a signal ends it. Resolves with the exit code. */
export async function runPod(
  bundleFolder: string,
  given: Environment,
  ending: Promise<void>,
): Promise<number> {
  const env = environmentOf(given)
  const fault = environmentFault(env) ?? podFault(env)
  if (fault !== undefined) {
    complain(fault)
    return 1
  }
  const log = createLog({
    ...standardOutput(() => undefined, env.GW_LOG_FORMAT),
    wallClock: systemClock.wall,
  })
  const { activate, first, started } = createHandover()
  const pod = new Pod({
    name: env.GW_POD_NAME || hostname(),
    uid: env.GW_GATEWAY_UID ?? '',
    bundleFolder,
    trustFolder: env.GW_TRUST_DIR ?? '',
    host: hostOf(env),
    log,
    activate,
  })
  const desk = Desk.open(env)
  const relayed = new RelayedPod(pod)
  const push = createPushServer(relayed)
  if (desk !== undefined) takePushesOf(pod, desk)
  else if (!(await listen('push_port', push, Number(env.GW_PUSH_PORT || PUSH_PORT)))) return 1
  // SIGHUP, which elsewhere reads a file again, must not end a pod: its files are watched anyway.
  process.on('SIGHUP', () => undefined)
  const over = ending.then(() => undefined)
  const booted = pod.boot().then(() => undefined)
  let loaded = await Promise.race([first, over, booted])
  if (loaded === undefined && desk !== undefined) {
    void desk.ready()
    loaded = await Promise.race([first, over])
  } else if (loaded === undefined) {
    const waiting = createWaitingServer()
    const port = Number(env.GW_LISTEN_PORT || LISTEN_PORT)
    if (!(await listen('listen_port', waiting.server, port))) return 1
    log.event('warn', 'waiting', 'No valid configuration is mounted; waiting for the operator.')
    loaded = await Promise.race([first, over])
    await close(waiting.server, waiting)
  }
  // Two writers to one descriptor would mix their lines.
  log.flush()
  let code = 0
  if (loaded !== undefined) {
    const follow = (gateway: Gateway, activation: Activation) => {
      pod.serveWith(gateway, activation)
      started.resolve(activation)
      return () => pod.close()
    }
    const name = `bundle ${bundleFolder}`
    const { pushedEndpoints } = pod
    const team = desk === undefined ? { lead: (crew: Crew) => relayed.lead(crew) } : { desk }
    const source = { name, loaded, isPod: true, follow, pushedEndpoints, ...team }
    code = await serve(source, env, ending)
  }
  pod.close()
  if (push.listening) await close(push, push)
  return code
}

/** An empty variable counts as absent. */
export function environmentOf(given: Environment): Environment {
  const said = Object.entries(given).filter(([name, value]) => value || !(name in POD_DEFAULTS))
  return { ...POD_DEFAULTS, ...Object.fromEntries(said) }
}

/** Connects the pod, which finds configurations, and the gateway, which starts with the first of them. */
function createHandover() {
  const first = Promise.withResolvers<Loaded>()
  const started = Promise.withResolvers<Activation>()
  let isFirst = true
  /** Resolves with its problems, once they are known or it is enforced. */
  async function activate(loaded: Loaded): Promise<readonly string[]> {
    if (isFirst) {
      const errors = errorsOf(loaded)
      if (errors.length > 0) return errors
      isFirst = false
      first.resolve(loaded)
    }
    const activation = await started.promise
    if (activation.loaded === loaded || activation.replace(() => loaded)) return []
    return activation.last.errors
  }
  return { activate, first: first.promise, started }
}

function errorsOf({ configuration, delivered, problems }: Loaded): string[] {
  if (configuration === undefined) return problems.map(({ message }) => message)
  try {
    compile(configuration, delivered)
    return []
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)]
  }
}

function podFault(env: Environment): string | undefined {
  const missing = ['GW_GATEWAY_UID', 'GW_TRUST_DIR'].filter((name) => !env[name])
  if (missing.length === 0) return undefined
  return `${missing.join(' and ')} must be set if a bundle is served; the operator sets them in its pods`
}

async function listen(field: Fault['field'], server: Server, port: number): Promise<boolean> {
  try {
    // Listens on every address of both families, because the operator connects to the pod's address.
    await once(server.listen(port), 'listening')
    return true
  } catch (error) {
    complain(new ListenError([{ field, error: error as NodeJS.ErrnoException }]).message)
    return false
  }
}

async function close(server: Server, connections: { closeAllConnections(): void }): Promise<void> {
  server.close()
  connections.closeAllConnections()
  await once(server, 'close')
}
