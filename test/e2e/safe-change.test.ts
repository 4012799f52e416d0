/**
 * A change of a model while parts of the cluster die: the rollout goes on where it was, and Verified never becomes true for
 * a generation whose route does not answer. GW_LONG=1: 20 rolls.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { until } from '../helpers/until.ts'
import { describe, startLoad } from './load.ts'
import { gateway, gatewayKey, server } from './objects.ts'
import { SPACE, SYSTEM } from './spaces.ts'
import { show } from './table.ts'
import {
  gatewayReady,
  openWorld,
  prepare,
  redisValues,
  rolledOut,
  SECONDS_MAX,
  type World,
} from './world.ts'

const NAME = 'shifted'
const ROLLS = process.env.GW_LONG ? 20 : 4
const FAULTS = ['none', 'pod', 'operator', 'both'] as const
const { key, object } = gatewayKey(NAME, 'acme')
let world: World

interface Status {
  readonly conditions: readonly {
    readonly type: string
    readonly status: string
    readonly reason: string
    readonly observedGeneration: number
  }[]
  readonly rollouts?: readonly {
    readonly phase: string
    /** In percent. */
    readonly share: string
    readonly reason: string
  }[]
}

function aGateway(model: string, annotation: string, rollout?: object): object {
  const upstream = (name: string, host: string, served: string) => ({
    ...{ name, provider: 'vllm', endpoint: `http://${host}:9000`, model: served },
    context_window: 8192,
  })
  const url = '${secret:gw-redis/url}'
  const plenty = { requests_per_minute: 1_000_000, burst: 1_000_000, concurrent_requests: 10_000 }
  const gw = {
    upstreams: [upstream('old', 'former', model), upstream('new', 'newer', 'm')],
    routes: [
      {
        name: 'chat',
        strategy: 'single',
        primary: 'old',
        verify: true,
        retry: { max_attempts: 1 },
        ...(rollout && { rollout }),
      },
    ],
    rate_limits: {
      backend: 'redis',
      redis: { url, timeout_ms: 2000, fail_open: true, key_prefix: NAME },
      default: plenty,
    },
  }
  const podAnnotations = { 'example.com/roll': annotation }
  return gateway(NAME, { gw, spec: { replicas: 2, podAnnotations } })
}

before(async () => {
  world = await openWorld()
  await prepare(world, ...redisValues(), '--set', 'replicas=2')
  const faulty = { image: world.image, command: ['node', '/client/faulty.ts'] }
  await world.apply(...server('former', faulty), ...server('newer', faulty), object)
  await Promise.all(['former', 'newer'].map((name) => rolledOut(world, 'deployment', name)))
  await world.apply(aGateway('m', 'first'))
  await gatewayReady(world, NAME)
})

after(async () => {
  const names = ['deployment,service', 'former', 'newer', '--ignore-not-found']
  await world.kubectl(['-n', SPACE, 'delete', 'gatewayconfig', NAME, '--ignore-not-found'])
  await world.kubectl(['-n', SPACE, 'delete', ...names])
})

async function state(): Promise<{ readonly generation: number; readonly status: Status }> {
  const { metadata, status } = await world.read('gatewayconfig', NAME)
  const { generation } = metadata as { generation: number } // As in the definition.
  return { generation, status: status as Status }
}

async function kill(what: (typeof FAULTS)[number]): Promise<void> {
  const now = ['--grace-period=1', '--wait=false', '--ignore-not-found']
  const first = async (space: string, select: string) => {
    const get = ['get', 'pods', '-l', select, '-o', 'jsonpath={.items[0].metadata.name}']
    const name = await world.kubectl(['-n', space, ...get])
    if (name !== '') await world.kubectl(['-n', space, 'delete', 'pod', name, ...now])
  }
  if (what === 'pod' || what === 'both') await first(SPACE, `inference.gw/gateway=${NAME}`)
  if (what === 'operator' || what === 'both')
    await first(SYSTEM, 'app.kubernetes.io/component=operator')
}

test('a rollout goes on where it was after a pod and the operators were killed', async () => {
  const rollout = { to: 'new', steps: [10, 50, 100], every: '10s', requests: 20 }
  await world.apply(aGateway('m', 'first', rollout))
  await gatewayReady(world, NAME)
  const url = `http://${NAME}.${SPACE}.svc`
  const load = await startLoad(world, 'shifted-load', { url, key, rate: 20 })
  const share = async () => Number((await state()).status.rollouts?.[0]?.share ?? 0)
  const shares: number[] = []
  const seen = async (wanted: number) => {
    const now = await share()
    if (now !== shares.at(-1)) shares.push(now)
    return now >= wanted
  }
  await until('the second step', () => seen(50), SECONDS_MAX)
  await kill('both')
  await kill('operator')
  await until('the last step', () => seen(100), SECONDS_MAX)
  await until(
    'the end',
    async () => {
      return (await state()).status.rollouts?.[0]?.phase !== 'running'
    },
    SECONDS_MAX,
  )
  const { status } = await state()
  const report = await load.stop()
  assert.equal(status.rollouts?.[0]?.phase, 'complete', JSON.stringify(status.rollouts))
  // A share that the operator did not read in time may be missing; none comes again.
  assert.deepEqual(
    shares,
    shares.toSorted((one, other) => one - other),
    'no step was repeated',
  )
  const answered = report.failures.filter(({ what }) => /^(status )?\d{3} /.test(what))
  assert.deepEqual(answered, [], describe(report))
  show(
    'model_rollout',
    `shares ${shares.join(', ')} %, complete; ${report.lost} of ${report.begun} requests lost, all at the killed pod`,
  )
})

test('Verified is never true for a generation whose route does not answer', async () => {
  const seen = { samples: 0, wrong: 0, good: 0, bad: 0 }
  for (let roll = 0; roll < ROLLS; roll++) {
    const works = roll % 2 === 1
    await world.apply(aGateway(works ? 'm' : 'misspelt', `roll-${roll}`))
    const { generation } = await state()
    await kill(FAULTS[Math.floor(roll / 2) % FAULTS.length] ?? 'none')
    await until(
      `the verdict on generation ${generation}`,
      async () => {
        const { status } = await state()
        const verified = status.conditions.find(({ type }) => type === 'Verified')
        seen.samples++
        if (verified?.observedGeneration !== generation) return false
        if (verified.status === 'True' && !works) seen.wrong++
        return works ? verified.status === 'True' : verified.reason === 'RouteFails'
      },
      SECONDS_MAX,
    )
    await gatewayReady(world, NAME)
    const { status } = await state()
    const verified = status.conditions.find(({ type }) => type === 'Verified')
    if (verified?.status === 'True' && !works) seen.wrong++
    seen[works ? 'good' : 'bad']++
    process.stdout.write(`${JSON.stringify(seen)}\n`)
  }
  const { samples, wrong, good, bad } = seen
  show(
    'verified',
    `${wrong} of ${samples} samples, over ${bad} generations that do not answer and ${good} that do`,
  )
  assert.equal(wrong, 0)
})
