/** Arguments and environment to a running operator, down again when it is asked to end. */
import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { parseArgs } from 'node:util'
import manifest from '../package.json' with { type: 'json' }
import { openCluster } from './cluster.ts'
import { serveHealth } from './health.ts'
import { createLog } from './log.ts'
import { startOperator } from './program.ts'
import { createTelemetry } from './telemetry.ts'

const HELP = `gw operator ${manifest.version}: runs and programs the gateways of a cluster.

Usage: node operator/main.ts [options]

  --namespace NAME          where its lease and signing key are     (POD_NAMESPACE, else the context's)
  --watch-namespaces A,B    look after these only                   (WATCH_NAMESPACES, else all)
  --image IMAGE             image of the data plane                 (GW_DATA_PLANE_IMAGE)
  --max-concurrent-rollouts N
                            gateways that roll at once after an upgrade of the operator (1)
  --health-port PORT        /healthz, /readyz and /metrics          (8081; 0: any free one)
  --kubeconfig FILE         where the cluster is                    (KUBECONFIG, else the pod's account)
  --context NAME            context of the kubeconfig
  --help                    this text

GW_OPERATOR_PUSH_ADDRESS=annotation takes the address of a pod's push port from its annotation
inference.gw/push-address. For tests in which pods are processes of one machine; never in a cluster.
`

/** How long nothing may be heard of the API server until the process asks to be restarted. */
const SILENT_MS_MAX = 300_000

type Environment = Readonly<Record<string, string | undefined>>

function readArguments(env: Environment) {
  const { values } = parseArgs({
    options: {
      namespace: { type: 'string' },
      'watch-namespaces': { type: 'string' },
      image: { type: 'string' },
      'max-concurrent-rollouts': { type: 'string' },
      'health-port': { type: 'string' },
      kubeconfig: { type: 'string' },
      context: { type: 'string' },
      help: { type: 'boolean' },
    },
  })
  const list = values['watch-namespaces'] ?? env.WATCH_NAMESPACES ?? ''
  return {
    help: values.help === true,
    namespace: values.namespace ?? env.POD_NAMESPACE,
    watchNamespaces: list
      .split(',')
      .map((name) => name.trim())
      .filter((name) => name !== ''),
    image: values.image ?? env.GW_DATA_PLANE_IMAGE ?? `gw:${manifest.version}`,
    rolloutsMax: wholeNumber(
      '--max-concurrent-rollouts',
      values['max-concurrent-rollouts'] ?? '1',
      1,
    ),
    healthPort: wholeNumber('--health-port', values['health-port'] ?? '8081', 0),
    kubeconfig: values.kubeconfig,
    context: values.context,
  }
}

function wholeNumber(name: string, text: string, least: number): number {
  const value = Number(text)
  if (text.trim() !== '' && Number.isInteger(value) && value >= least && value <= 65_535)
    return value
  throw new TypeError(`${name} is "${text}"; it must be a whole number from ${least} to 65535`)
}

/** Resolves with the exit code. */
export async function run(env: Environment, ending: Promise<void>): Promise<number> {
  const wanted = readArguments(env)
  if (wanted.help) {
    process.stdout.write(HELP)
    return 0
  }
  const log = createLog((line) => process.stdout.write(line), Date.now)
  const telemetry = createTelemetry()
  const { kubeconfig, context } = wanted
  const cluster = await openCluster({ env, kubeconfig, context })
  const namespace = wanted.namespace ?? cluster.namespace
  const operator = startOperator({
    cluster,
    namespace,
    watchNamespaces: wanted.watchNamespaces,
    identity: `${hostname()}-${randomBytes(4).toString('hex')}`,
    release: {
      image: wanted.image,
      version: manifest.version,
      operatorNamespace: namespace,
    },
    rolloutsMax: wanted.rolloutsMax,
    honoursPushAddress: env.GW_OPERATOR_PUSH_ADDRESS === 'annotation',
    log,
    telemetry,
  })
  const health = await serveHealth(
    {
      isAlive: () => operator.silentMs() < SILENT_MS_MAX,
      isReady: operator.isSynced,
      registry: telemetry.registry,
    },
    { port: wanted.healthPort, host: '0.0.0.0' },
  )
  const { server } = cluster
  log.event('info', 'start', `gw operator ${manifest.version}.`, {
    server,
    namespace,
    health: health.address(),
  })
  const end = await Promise.race([ending.then(() => 'asked'), operator.lost.then(() => 'lost')])
  await operator.stop()
  health.closeAllConnections()
  health.close()
  log.event('info', 'stop', 'Nothing is under way any more.', { why: end })
  return end === 'lost' ? 1 : 0
}
