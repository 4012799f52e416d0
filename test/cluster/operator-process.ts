/** The real operator as a process, and the checks of tests on gateways. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { GatewayStatus } from '../../crds/gateway-config.ts'
import { answers, until } from '../helpers/until.ts'
import type { ControlPlane } from './control-plane.ts'

const PROGRAM = join(import.meta.dirname, 'operator-main.ts')

export interface OperatorProcess {
  readonly child: ChildProcess
  readonly healthUrl: string
  output(): string
  stop(signal?: NodeJS.Signals): Promise<number | null>
}

export interface OperatorOptions {
  readonly kubeconfig: string
  readonly namespace?: string
  readonly args?: readonly string[]
  /** False: returns right after the start, before the operator is ready. */
  readonly isAwaited?: boolean
}

export async function startOperatorProcess(options: OperatorOptions): Promise<OperatorProcess> {
  const { kubeconfig, namespace = 'gw-system', args = [], isAwaited = true } = options
  const child = spawn(
    process.execPath,
    [PROGRAM, '--namespace', namespace, '--health-port', '0', '--kubeconfig', kubeconfig, ...args],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  )
  const pieces: string[] = []
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (piece: string) => pieces.push(piece))
  }
  const output = () => pieces.join('')
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  child.once('close', () => process.off('exit', kill))
  let port: number | undefined
  try {
    await until(
      'the operator is ready',
      async () => {
        if (child.exitCode !== null) throw new Error(`it exited with ${child.exitCode}`)
        port ??= healthPortIn(output())
        if (!isAwaited) return true
        return port !== undefined && (await answers(`http://127.0.0.1:${port}/readyz`))
      },
      120,
    )
  } catch (cause) {
    kill()
    throw new Error(`The operator did not become ready:\n${output()}`, { cause })
  }
  const operator: OperatorProcess = {
    child,
    get healthUrl() {
      return `http://127.0.0.1:${healthPortIn(output())}`
    },
    output,
    async stop(signal = 'SIGTERM') {
      if (child.exitCode === null && child.signalCode === null) {
        const closed = once(child, 'close')
        child.kill(signal)
        await closed
      }
      return child.exitCode
    },
  }
  child.once('close', () => started.delete(operator))
  started.add(operator)
  return operator
}

const started = new Set<OperatorProcess>()

/** Every running operator, also a suspended one: a remaining process would prevent the end of the test. */
export async function stopOperators(): Promise<void> {
  for (const { child } of started) child.kill('SIGCONT')
  await Promise.all([...started].map((operator) => operator.stop('SIGKILL')))
}

/** The delay before a cluster restarts a container. */
const RESTART_MS = 10_000

/** Restarts that operator whenever it ends, until the caller calls the returned function. */
export function supervise(
  holder: { operator: OperatorProcess },
  startAgain: () => Promise<OperatorProcess>,
): () => Promise<void> {
  const leaving = Promise.withResolvers<void>()
  let isOver = false
  const run = async () => {
    for (;;) {
      const { child } = holder.operator
      const hasEnded = child.exitCode !== null || child.signalCode !== null
      if (!hasEnded) await Promise.race([once(child, 'close'), leaving.promise])
      if (isOver) return
      await delay(RESTART_MS)
      holder.operator = await startAgain()
    }
  }
  const running = run()
  return async () => {
    isOver = true
    leaving.resolve()
    await running
  }
}

function healthPortIn(output: string): number | undefined {
  const line = output.split('\n').find((one) => one.includes('"event":"start"'))
  return line === undefined ? undefined : JSON.parse(line).health.port
}

/** Where gateways can be read. */
export type Readable = Pick<ControlPlane, 'read'>

async function gatewayNamed({ read }: Readable, name: string): Promise<Gateway> {
  const gateway = await read(`/apis/inference.gw/v1/namespaces/ai/gatewayconfigs/${name}`)
  if (gateway === undefined) throw new Error(`There is no gateway ${name}.`)
  return gateway as Gateway // The API server validates it against the definition.
}

interface Gateway {
  readonly metadata: { readonly generation: number }
  readonly status?: GatewayStatus
}

export async function statusOf(cluster: Readable, name: string): Promise<GatewayStatus> {
  const { status } = await gatewayNamed(cluster, name)
  if (status === undefined) throw new Error(`The gateway ${name} has no status yet.`)
  return status
}

export function conditionIn({ conditions = [] }: Partial<GatewayStatus>, type: string) {
  return conditions.find((condition) => condition.type === type)
}

/** Waits for this condition at this generation; fails with the whole status. */
export async function untilCondition(
  cluster: Readable,
  name: string,
  [type, status, reason]: readonly [string, string, string?],
  secondsMax = 120,
): Promise<GatewayStatus> {
  let last: GatewayStatus | undefined
  try {
    await until(
      `${type}=${status}`,
      async () => {
        const gateway = await gatewayNamed(cluster, name)
        last = gateway.status
        const condition = conditionIn(last ?? {}, type)
        return (
          condition?.status === status &&
          condition.observedGeneration === gateway.metadata.generation &&
          (reason === undefined || condition.reason === reason)
        )
      },
      secondsMax,
    )
  } catch (cause) {
    throw new Error(`${type} is not ${status}: ${JSON.stringify(last, null, 2)}`, { cause })
  }
  if (last === undefined) throw new Error('there is no status')
  return last
}
