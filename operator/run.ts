/** Starts the operator from arguments and environment, and stops it on a signal. */
import { randomBytes } from 'node:crypto'
import { isIP } from 'node:net'
import { hostname } from 'node:os'
import { parseArgs } from 'node:util'
import { faultOfRuntime } from '../dataplane/json/parse.ts'
import manifest from '../package.json' with { type: 'json' }
import type { AdmissionOptions } from './admission/webhook.ts'
import type { PodNetwork } from './delivery/targets.ts'
import { serveHealth } from './health.ts'
import { openCluster } from './kube/cluster.ts'
import { createLog } from './log.ts'
import { type OperatorOptions, startOperator } from './program.ts'
import { createTelemetry } from './telemetry.ts'
import { startTracing } from './tracing/collector.ts'
import { tracingSettings } from './tracing/settings.ts'

const HELP = `gw operator ${manifest.version}: runs and programs the gateways of a cluster.

Usage: node operator/main.ts [options]

  --namespace NAME          where its lease and signing key are     (POD_NAMESPACE, else the context's)
  --watch-namespaces A,B    look after these only                   (WATCH_NAMESPACES, else all)
  --image IMAGE             image of the data plane                 (GW_DATA_PLANE_IMAGE)
  --max-concurrent-rollouts N
                            gateways that roll at once after an upgrade of the operator (1)
  --http-routes             write routes of the Gateway API for gateways that ask for one
  --generate-keys           make the keys of GatewayKeys with spec.generate, into Secrets
  --inference-pools         read InferencePools that upstreams name, and say so in their status
  --health-port PORT        /healthz, /readyz and /metrics          (8081; 0: any free one)
  --otlp-endpoint URL       collector of OpenTelemetry that gets a trace of each reconcile, with its pushes
                            (OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS; absent: none)
  --webhook-port PORT       serve an admission webhook over HTTPS   (absent: none; 0: any free one)
  --webhook-host A,B        names and addresses by which the API server reaches it
  --webhook-configuration NAME
                            the ValidatingWebhookConfiguration that receives the authority
  --webhook-certificate FOLDER
                            show tls.crt and tls.key of this folder, instead of the two above
  --kubeconfig FILE         where the cluster is                    (KUBECONFIG, else the pod's account)
  --context NAME            context of the kubeconfig
  --help                    this text
`

/** Longest silence of the API server before the process requests a restart. */
const SILENT_MS_MAX = 300_000
const LISTEN_HOST = '0.0.0.0'

type Environment = Readonly<Record<string, string | undefined>>

function readArguments(env: Environment) {
  const { values } = parseArgs({
    options: {
      namespace: { type: 'string' },
      'watch-namespaces': { type: 'string' },
      image: { type: 'string' },
      'max-concurrent-rollouts': { type: 'string' },
      'http-routes': { type: 'boolean' },
      'generate-keys': { type: 'boolean' },
      'inference-pools': { type: 'boolean' },
      'health-port': { type: 'string' },
      'otlp-endpoint': { type: 'string' },
      'webhook-port': { type: 'string' },
      'webhook-host': { type: 'string' },
      'webhook-configuration': { type: 'string' },
      'webhook-certificate': { type: 'string' },
      kubeconfig: { type: 'string' },
      context: { type: 'string' },
      help: { type: 'boolean' },
    },
  })
  return {
    help: values.help === true,
    namespace: values.namespace ?? env.POD_NAMESPACE,
    watchNamespaces: listed(values['watch-namespaces'] ?? env.WATCH_NAMESPACES),
    image: values.image ?? env.GW_DATA_PLANE_IMAGE ?? `gw:${manifest.version}`,
    rolloutsMax: wholeNumber(
      '--max-concurrent-rollouts',
      values['max-concurrent-rollouts'] ?? '1',
      1,
    ),
    healthPort: wholeNumber('--health-port', values['health-port'] ?? '8081', 0),
    mayRoute: values['http-routes'] === true,
    mayMakeKeys: values['generate-keys'] === true,
    mayPool: values['inference-pools'] === true,
    tracing: tracingSettings(values['otlp-endpoint'], env),
    webhook: webhookOf(values),
    kubeconfig: values.kubeconfig,
    context: values.context,
  }
}

interface WebhookValues {
  readonly 'webhook-port'?: string | undefined
  readonly 'webhook-host'?: string | undefined
  readonly 'webhook-configuration'?: string | undefined
  readonly 'webhook-certificate'?: string | undefined
}

/** Some options belong together: a webhook that the API server cannot reach or trust is worse than none. */
function webhookOf(values: WebhookValues) {
  const folder = values['webhook-certificate']
  if (folder === undefined) return ownWebhookOf(values)
  const port = values['webhook-port']
  const others = values['webhook-host'] ?? values['webhook-configuration']
  if (port === undefined || folder === '' || others !== undefined) {
    const message = '--webhook-certificate goes with --webhook-port, and takes the place of'
    throw new TypeError(`${message} --webhook-host and --webhook-configuration`)
  }
  return { port: wholeNumber('--webhook-port', port, 0), folder }
}

function ownWebhookOf(values: WebhookValues) {
  const hosts = listed(values['webhook-host'])
  const [port, configuration] = [values['webhook-port'], values['webhook-configuration']]
  if (port === undefined && hosts.length === 0 && configuration === undefined) return undefined
  if (port === undefined || hosts.length === 0 || !configuration) {
    const all = '--webhook-port, --webhook-host and --webhook-configuration'
    throw new TypeError(`${all} go together; give all three, or none`)
  }
  const wrong = hosts.find((host) => isIP(host) === 0 && !HOST.test(host))
  if (wrong !== undefined) {
    throw new TypeError(`--webhook-host has "${wrong}"; give DNS names and IP addresses, no ports`)
  }
  return { port: wholeNumber('--webhook-port', port, 0), hosts, configuration }
}

const HOST = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/

function listed(names = ''): readonly string[] {
  return names
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
}

function wholeNumber(name: string, text: string, least: number): number {
  const value = Number(text)
  if (text.trim() !== '' && Number.isInteger(value) && value >= least && value <= 65_535)
    return value
  throw new TypeError(`${name} is "${text}"; it must be a whole number from ${least} to 65535`)
}

/** Resolves with the exit code. The network of the pods is the cluster's if absent. */
export async function run(
  env: Environment,
  ending: Promise<void>,
  network?: PodNetwork,
): Promise<number> {
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
  const startWebhook = await provideWebhook(wanted.webhook, { namespace, log, telemetry })
  const identity = `${hostname()}-${randomBytes(4).toString('hex')}`
  const { version } = manifest
  const tracing = wanted.tracing
    ? startTracing({ ...wanted.tracing, namespace, identity, version, log, telemetry })
    : undefined
  const operator = startOperator({
    cluster,
    namespace,
    watchNamespaces: wanted.watchNamespaces,
    identity,
    release: {
      image: wanted.image,
      version,
      operatorNamespace: namespace,
    },
    rolloutsMax: wanted.rolloutsMax,
    mayRoute: wanted.mayRoute,
    mayMakeKeys: wanted.mayMakeKeys,
    mayPool: wanted.mayPool,
    ...(network && { network }),
    log,
    telemetry,
    ...(tracing && { tracer: tracing.tracer }),
    ...(startWebhook && { startWebhook }),
  })
  const webhook = await operator.webhook?.listening
  const health = await serveHealth(
    {
      isAlive: () => operator.silentMs() < SILENT_MS_MAX,
      unready: () =>
        operator.fault() ??
        (operator.isSynced() && operator.webhook?.isReady !== false ? undefined : 'not yet'),
      registry: telemetry.registry,
    },
    { port: wanted.healthPort, host: LISTEN_HOST },
  )
  const { server } = cluster
  log.event('info', 'start', `gw operator ${manifest.version}.`, {
    server,
    namespace,
    health: health.address(),
    ...(webhook && { webhook }),
  })
  const fault = faultOfRuntime()
  if (fault !== undefined) log.event('warn', 'runtime', fault)
  const end = await Promise.race([ending.then(() => 'asked'), operator.lost.then(() => 'lost')])
  await operator.stop()
  await tracing?.stop()
  health.closeAllConnections()
  health.close()
  log.event('info', 'stop', 'Nothing is under way any more.', { why: end })
  return end === 'lost' ? 1 : 0
}

/** Time in which the API server may still send reviews to a pod that ends. */
const WEBHOOK_DRAIN_MS = 5000

/** Loaded only if it is enabled, because most operators have none. */
async function provideWebhook(
  wanted: ReturnType<typeof webhookOf>,
  parts: Pick<AdmissionOptions, 'log' | 'telemetry'> & { readonly namespace: string },
): Promise<OperatorOptions['startWebhook']> {
  if (wanted === undefined) return undefined
  const { port, ...origin } = wanted
  const { namespace, ...rest } = parts
  const { startWebhook } = await import('./admission/webhook.ts')
  const options: AdmissionOptions = {
    ...rest,
    listen: { port, host: LISTEN_HOST },
    certificates: 'folder' in origin ? origin : { ...origin, namespace },
    drainMs: WEBHOOK_DRAIN_MS,
    wallClock: Date.now,
  }
  return (known) => startWebhook(options, known)
}
