/** Chooses the gateway of a command: a stand-alone one by its admin API, or one of a cluster by kubeconfig. */
import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, join } from 'node:path'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { adminFolder } from '../../dataplane/admin/place.ts'
import { EXIT } from '../printing/output.ts'
import { ADMIN_DEFAULT, adminOption, isGatewayAt } from './connection.ts'

export interface PlaceOptions {
  readonly admin?: string
  readonly kubeconfig?: string
  readonly context?: string
  readonly namespace?: string
  readonly gateway?: string
}

export interface StandAlone {
  readonly kind: 'stand-alone'
  readonly admin: string
}

export interface InCluster {
  readonly kind: 'cluster'
  readonly kubeconfig: string | undefined
  readonly context: string | undefined
  readonly namespace: string | undefined
  /** Name of the GatewayConfig; absent: the only one of the namespace. */
  readonly gateway: string | undefined
}

export type Place = StandAlone | InCluster

/** The options that choose the gateway a command asks. */
export function addPlace(command: Command): Command {
  return addCluster(command.addOption(adminOption()))
}

/** For commands that need a cluster. */
export function addCluster(command: Command): Command {
  return command
    .addOption(new Option('--kubeconfig <path>', 'kubeconfig of the cluster (KUBECONFIG)'))
    .addOption(new Option('--context <name>', 'context of the kubeconfig'))
    .addOption(
      new Option('-n, --namespace <name>', "namespace; the context's if absent").argParser(
        namespaceNamed,
      ),
    )
    .addOption(
      new Option(
        '--gateway <name>',
        'GatewayConfig, NAME or NAMESPACE/NAME; the only one there if absent',
      ).argParser(gatewayNamed),
    )
}

const LABEL = '[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?'

/** Another text would become part of a path and request something else. */
function namespaceNamed(text: string): string {
  if (new RegExp(`^${LABEL}$`).test(text)) return text
  throw new InvalidArgumentError('Give a name of lower-case letters, digits and -.')
}

function gatewayNamed(text: string): string {
  if (new RegExp(`^(?:${LABEL}/)?${LABEL}(?:\\.${LABEL})*$`).test(text)) return text
  throw new InvalidArgumentError('Give NAME or NAMESPACE/NAME, in lower case.')
}

const CLUSTER_FLAGS = ['kubeconfig', 'context', 'namespace', 'gateway'] as const

/** For commands that change something: options win, then GW_ADMIN, then a kubeconfig. */
export async function placeOf(options: PlaceOptions, command: Command): Promise<Place> {
  return writtenPlace(options, command) ?? (await localPlace())
}

/** The same for commands without a default: undefined instead of a gateway on this machine. */
export function writtenPlace(options: PlaceOptions, command: Command): Place | undefined {
  return saidPlace(options, command) ?? (hasKubeconfig() ? clusterOf(options) : undefined)
}

/** For commands that only read: a gateway on this machine wins over the cluster of a kubeconfig. */
export async function askedPlace(options: PlaceOptions, command: Command): Promise<Place> {
  const said = saidPlace(options, command)
  if (said !== undefined) return said
  if (!hasKubeconfig()) return await localPlace()
  if (isKubectl()) return clusterOf(options)
  return (await foundPlace()) ?? clusterOf(options)
}

/** No gateway runs on this machine; one may start later. */
export class NothingRuns extends Error {}

/** Throws an error text if no gateway runs here, or several do. */
async function localPlace(): Promise<StandAlone> {
  const found = await foundPlace()
  if (found !== undefined) return found
  const folder = adminFolder(process.env)
  throw new NothingRuns(
    `No gateway of this user runs on this machine (no socket in ${folder} answers). ` +
      'Start one with `gw run --file FILE`, or give one with --admin or GW_ADMIN, ' +
      'or a cluster with -n and --gateway.',
  )
}

export async function foundPlace(): Promise<StandAlone | undefined> {
  const { localGateways } = await import('./local-gateways.ts')
  const [first, ...others] = await localGateways()
  if (first === undefined) return (await isGatewayAt(ADMIN_DEFAULT)) ? DEFAULT : undefined
  if (others.length === 0) return { kind: 'stand-alone', admin: first.admin }
  const list = [first, ...others].map(
    ({ listenPort, file, admin }) => `--admin ${listenPort} (${file}, ${admin})`,
  )
  throw new Error(`Several gateways run on this machine; give one of them: ${list.join(', ')}`)
}

const DEFAULT: StandAlone = { kind: 'stand-alone', admin: ADMIN_DEFAULT }

/** The place in an option or in GW_ADMIN; undefined if neither is set. */
export function saidPlace(options: PlaceOptions, command: Command): Place | undefined {
  const { admin } = options
  const flag = CLUSTER_FLAGS.find((name) => options[name] !== undefined)
  const isAdminSaid = command.getOptionValueSource('admin') === 'cli'
  if (isAdminSaid && flag !== undefined) {
    const message = `error: --admin is of a stand-alone gateway and --${flag} of a cluster; give one`
    command.error(message, { exitCode: EXIT.usage })
  }
  if (flag !== undefined) return clusterOf(options)
  return admin === undefined ? undefined : { kind: 'stand-alone', admin }
}

/** The named cluster, or that of the kubeconfig; undefined if there is neither. */
export function clusterPlace(options: PlaceOptions): InCluster | undefined {
  const isNamed = CLUSTER_FLAGS.some((name) => options[name] !== undefined)
  return isNamed || hasKubeconfig() ? clusterOf(options) : undefined
}

/** `gwc/NAME`, as in kubectl. */
export function gatewayIn(text: string): string {
  const name = /^(?:gwc|gatewayconfigs?(?:\.inference\.gw)?)\/([a-z0-9-]+)$/.exec(text)?.[1]
  if (name !== undefined) return name
  throw new InvalidArgumentError('Give gwc/NAME.')
}

function clusterOf({ kubeconfig, context, namespace, gateway }: PlaceOptions): InCluster {
  return { kind: 'cluster', kubeconfig, context, namespace, gateway }
}

/** `kubectl gw` uses clusters as kubectl does. */
function isKubectl(): boolean {
  return basename(process.argv[1] ?? '').startsWith('kubectl-gw')
}

function hasKubeconfig(): boolean {
  if (isKubectl()) return true
  return Boolean(process.env.KUBECONFIG) || existsSync(join(homedir(), '.kube', 'config'))
}
