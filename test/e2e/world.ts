/**
 * The cluster of the tests, with the chart installed: this machine's node, or that of
 * E2E_KUBECONFIG.
 */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Kubectl, makeKubectl } from '../helpers/kubernetes/kubectl.ts'
import { providePrograms } from '../helpers/kubernetes/programs.ts'
import { clientPrograms, simulator } from './objects.ts'
import { SPACE, SYSTEM } from './spaces.ts'

export const ROOT = join(import.meta.dirname, '../..')
const CHART = join(ROOT, 'charts/gw')
/** The label that Helm sets on every object of the release. */
export const RELEASE = 'app.kubernetes.io/instance=gw,app.kubernetes.io/managed-by=Helm'
/** Pods start slowly if the tests, the cluster and other work share two cores. */
export const SECONDS_MAX = 400

export interface World {
  readonly kubectl: Kubectl
  /** As written on a command line after `helm`. */
  helm(...args: readonly string[]): Promise<string>
  readonly image: string
  /** True if the tests may stop its programs. */
  readonly isOurNode: boolean
  apply(...objects: readonly object[]): Promise<void>
  /** An object as JSON, with its status. */
  read(kind: string, name: string, namespace?: string): Promise<Record<string, unknown>>
}

/** run.ts sets the environment. */
export async function openWorld(): Promise<World> {
  const { E2E_KUBECONFIG: kubeconfig, E2E_IMAGE: image, E2E_OUR_NODE } = process.env
  if (!kubeconfig || !image) throw new Error('Run these tests with `make test-e2e`.')
  const programs = await providePrograms(['kubectl', 'helm'])
  const kubectl = makeKubectl(
    programs.kubectl ?? 'kubectl',
    kubeconfig,
    SECONDS_MAX * 1000 + 30_000,
  )
  const execute = promisify(execFile)
  return {
    kubectl,
    async helm(...args) {
      const env = { ...process.env, KUBECONFIG: kubeconfig }
      return (await execute(programs.helm ?? 'helm', args, { cwd: ROOT, env })).stdout
    },
    image,
    isOurNode: E2E_OUR_NODE === 'true',
    async apply(...objects) {
      const stdin = objects.map((object) => JSON.stringify(object)).join('\n---\n')
      await kubectl(['apply', '--server-side', '--force-conflicts', '-f', '-'], { stdin })
    },
    read: async (kind, name, namespace = SPACE) =>
      JSON.parse(await kubectl(['-n', namespace, 'get', kind, name, '-o', 'json'])),
  }
}

/** Values for an image with another name than the chart's default. */
export function imageValues(image: string): string[] {
  const colon = image.lastIndexOf(':')
  const [repository, tag] = [image.slice(0, colon), image.slice(colon + 1)]
  return ['--set', `image.repository=${repository}`, '--set-string', `image.tag=${tag}`]
}

/** The gateways' namespace enforces restricted Pod Security. */
export async function ensureSpace(world: World): Promise<void> {
  await world.apply({
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: SPACE, labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } },
  })
}

/** Installs what is missing. */
export async function ensureInstalled(world: World, ...values: readonly string[]): Promise<void> {
  await ensureSpace(world)
  await world.helm(
    ...['upgrade', '--install', 'gw', CHART, '-n', SYSTEM, '--create-namespace', '--wait'],
    ...['--timeout', `${SECONDS_MAX}s`, '--reset-values', ...imageValues(world.image), ...values],
  )
}

/** The Redis of the chart; on our node, from a local image. */
export function redisValues(): string[] {
  const values = ['redis.embedded.enabled=true', `redis.embedded.namespaces={${SPACE}}`]
  const image = process.env.E2E_REDIS_IMAGE
  if (image) values.push(`redis.embedded.image=${image}`)
  return values.flatMap((value) => ['--set', value])
}

/** The chart, and what `startModels` starts. */
export async function prepare(world: World, ...values: readonly string[]): Promise<void> {
  await ensureInstalled(world, ...values)
  await startModels(world)
}

/** Two simulated models, and the client programs. */
export async function startModels(world: World): Promise<void> {
  const paced = ['--tokens', '40', '--tokens-per-second', '4']
  await world.apply(
    clientPrograms(),
    ...simulator('fast', world.image, '--tokens', '3'),
    ...simulator('slow', world.image, ...paced),
  )
  await rolledOut(world, 'deployment', 'fast')
  await rolledOut(world, 'deployment', 'slow')
}

export async function rolledOut(world: World, kind: string, name: string, namespace = SPACE) {
  const where = ['-n', namespace, 'rollout', 'status', `${kind}/${name}`]
  await world.kubectl([...where, `--timeout=${SECONDS_MAX}s`])
}

/** If the gateway does not become ready, the error contains its status, the pods and their warnings. */
export async function gatewayReady(world: World, name: string): Promise<void> {
  const args = ['-n', SPACE, 'wait', '--for=condition=Ready', `gatewayconfig/${name}`]
  try {
    await world.kubectl([...args, `--timeout=${SECONDS_MAX}s`])
  } catch (error) {
    const status = JSON.stringify((await world.read('gatewayconfig', name)).status, null, 2)
    const pods = await world.kubectl(['-n', SPACE, 'get', 'pods', '-o', 'wide'])
    const warnings = ['get', 'events', '--field-selector=type=Warning', '--sort-by=.lastTimestamp']
    const events = await world.kubectl(['-n', SPACE, ...warnings])
    const text = `${name} did not become ready.\n${status}\n${pods}\n${events}`
    throw new Error(text, { cause: error })
  }
}

export interface Condition {
  readonly status: string
  readonly reason: string
  readonly message: string
}

export async function conditionOf(world: World, name: string, type: string): Promise<Condition> {
  const { status } = await world.read('gatewayconfig', name)
  const { conditions } = status as { conditions: (Condition & { type: string })[] } // As in the definition.
  const found = conditions.find((condition) => condition.type === type)
  if (found === undefined) throw new Error(`${name} has no condition ${type}.`)
  return found
}
