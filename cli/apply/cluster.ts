/** `gw apply` to a cluster: server-side apply, then a wait until every pod enforces the configuration. */
import type { GatewayStatus } from '../../crds/gateway-config.ts'
import { ApiError } from '../../operator/kube/api-error.ts'
import { type KubeObject, RESOURCES } from '../../operator/kube/objects.ts'
import { type ClusterAccess, withCluster } from '../asking/cluster-access.ts'
import type { InCluster } from '../asking/place.ts'
import { printDifferences } from '../printing/differences-text.ts'
import { type Format, isForPeople, printData } from '../printing/formats.ts'
import { EXIT, printLine, printRemark } from '../printing/output.ts'
import { printProblems } from '../printing/problems-text.ts'
import { type Change, changeOf, MANAGER } from './change.ts'
import { isAgreed, removalsOf } from './consent.ts'
import { judge, type Written } from './document.ts'
import { untilProgrammed, type Waited } from './progress.ts'

export interface Applying {
  readonly onlyLimits: boolean
  readonly drainSeconds: number | undefined
  readonly force: boolean
  /** Removals are agreed to. */
  readonly yes: boolean
  readonly wait: boolean
  readonly timeoutMs: number
  readonly output: Format
}

export async function applyToCluster(
  written: Written,
  place: InCluster,
  applying: Applying,
): Promise<void> {
  await withCluster(place, async (access) => {
    const gateway = judged(written, place, access)
    if (gateway === undefined) return
    try {
      await applyJudged(gateway, access, applying)
    } catch (error) {
      if (!(error instanceof ApiError) || !REFUSALS.has(error.status)) throw error
      process.exitCode = EXIT.no
      printRemark(`refused: ${error.message}${adviceOn(error)}`)
    }
  })
}

/** Statuses of a refusal by the API server: conflict, or invalid. */
const REFUSALS: ReadonlySet<number> = new Set([400, 409, 422])

function adviceOn({ status, message }: ApiError): string {
  if (status !== 409) return ''
  return message.includes('conflict with')
    ? '\n    fix: Take these fields over with --force-conflicts, or leave them to their present owner.'
    : '\n    fix: The object has changed meanwhile; check `gw diff`, and apply again.'
}

/** undefined if the file is refused before it is sent; the problems are then printed. */
export function judged(
  written: Written,
  place: InCluster,
  access: ClusterAccess,
): KubeObject | undefined {
  const { gateway, problems } = judge(written, {
    name: place.gateway,
    namespace: access.namespace,
    isNamespaceSaid: place.namespace !== undefined,
  })
  printProblems(problems)
  if (gateway === undefined) {
    process.exitCode = EXIT.no
    printRemark(`refused: ${written.name}; nothing was sent`)
  }
  return gateway
}

async function applyJudged(gateway: KubeObject, access: ClusterAccess, applying: Applying) {
  const { drainSeconds, force, onlyLimits, wait, timeoutMs, output } = applying
  const change = await changeOf(gateway, access, { force, drainSeconds })
  if (onlyLimits && !isReloadable(change)) return
  if (!(await isAgreed(removalsOf(change.differences), applying.yes))) return
  if (drainSeconds !== undefined && change.live !== undefined && !change.rolls)
    printRemark('This change replaces no pod, so --drain-timeout has no effect.')
  const applied = await send(change, access, { force, onlyLimits })
  const { name, generation = 0 } = applied.metadata
  const verb = verbOf(change)
  const names = [`gatewayconfig.inference.gw/${name}`]
  // Printed before the pods have the configuration.
  if (isForPeople(output)) {
    printLine(`${names[0]} ${verb}`)
    if (change.live !== undefined) printDifferences(change.differences)
  }
  const facts = { name, namespace: applied.metadata.namespace, generation, result: verb }
  const more = { rolls: change.rolls, differences: change.differences }
  if (!wait) return await printData(output, { value: { ...facts, ...more }, names, print() {} })
  const waited = await untilProgrammed(applied, access, { generation, timeoutMs })
  const isProgrammed = waited.kind === 'programmed'
  if (!isProgrammed) process.exitCode = EXIT.no
  const why = isProgrammed ? {} : { why: waited.why }
  const { pods, activeHash } = waited.status
  const value = { ...facts, programmed: isProgrammed, ...why, ...more, activeHash, pods }
  await printData(output, { value, names, print: () => printWaited(waited, timeoutMs) })
}

function printWaited(waited: Waited, timeoutMs: number): void {
  if (waited.kind === 'programmed') {
    printLine(programmedText(waited.status))
    warnOf(waited.status)
    return
  }
  const late = waited.kind === 'late' ? `not programmed within ${timeoutMs / 1000} s: ` : ''
  printRemark(`${late}${waited.why}`)
}

/** The configuration is active, but may still not be what the user intended. */
function warnOf({ conditions, keys }: GatewayStatus): void {
  const refs = conditions.find(({ type, status }) => type === 'ResolvedRefs' && status === 'False')
  if (refs !== undefined) printRemark(`warning: ${refs.message}`)
  if (keys?.count === 0) printRemark(NO_KEYS)
}

const NO_KEYS =
  'warning: it has no keys yet, so every request gets 401; create one with `gw keys create --apply`'

/** Prints the other differences, if the change is not limited to reloadable fields. */
function isReloadable({ live, differences }: Change): boolean {
  const foreign = differences.filter(({ reloadable }) => !reloadable)
  if (live !== undefined && foreign.length === 0) return true
  process.exitCode = EXIT.no
  if (live === undefined) {
    printRemark('refused: There is no such gateway to reload; apply the file without --reload.')
    return false
  }
  const what = 'more than rate limits, budgets, pricing and keys would change; nothing was changed'
  printRemark(`refused: ${what}`)
  printDifferences(foreign, process.stderr)
  printRemark(
    '    fix: Apply it without --reload, or change only the fields that --reload accepts.',
  )
  return false
}

async function send(
  { gateway, live }: Change,
  { api }: ClusterAccess,
  { force, onlyLimits }: Pick<Applying, 'force' | 'onlyLimits'>,
): Promise<KubeObject> {
  // The object changes only if it is still the compared one.
  const { resourceVersion } = live?.metadata ?? {}
  const isPinned = onlyLimits && resourceVersion !== undefined
  const metadata = { ...gateway.metadata, ...(isPinned ? { resourceVersion } : {}) }
  return await api.apply(
    RESOURCES.gatewayConfigs,
    { ...gateway, metadata },
    { manager: MANAGER, force },
  )
}

function verbOf({ live, differences }: Change): string {
  if (live === undefined) return 'created'
  return differences.length === 0 ? 'unchanged' : 'configured'
}

function programmedText({ pods, activeHash, address }: GatewayStatus): string {
  const where = address === undefined ? '' : ` at ${address}`
  return `programmed: ${pods.length} ${pods.length === 1 ? 'pod enforces' : 'pods enforce'} ${activeHash?.slice(0, 12)}${where}`
}
