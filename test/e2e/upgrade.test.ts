/**
 * An upgrade from an earlier chart and its definitions to the current release, while gateways
 * serve.
 */
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { valueBelow } from '../../dataplane/json/values.ts'
import { gw as tool } from '../helpers/gw.ts'
import { until } from '../helpers/until.ts'
import { describe, type Load, startLoad } from './load.ts'
import { gateway, gatewayKey } from './objects.ts'
import { SPACE, SYSTEM } from './spaces.ts'
import { show } from './table.ts'
import {
  ensureInstalled,
  ensureSpace,
  gatewayReady,
  imageValues,
  openWorld,
  RELEASE,
  redisValues,
  rolledOut,
  SECONDS_MAX,
  startModels,
  type World,
} from './world.ts'

const NAME = 'upgraded'
const FORMER = join(import.meta.dirname, 'former')
const [CHART = ''] = readdirSync(FORMER).filter((file) => file.endsWith('.tgz'))
/**
 * Built from the same commit; absent without the history: then the current image runs under the
 * earlier chart.
 */
const { E2E_FORMER_IMAGE: FORMER_IMAGE } = process.env
/**
 * The objects that the operator of a former release created for itself: no later release removes
 * them.
 */
const OWN = ['secret/gw-operator-signing', 'lease/gw-operator']
let world: World
let load: Load
/** Without streams: its answers name what each request used. */
let counted: Load

before(async () => {
  world = await openWorld()
  await removeRelease()
})

after(async () => {
  const pods = ['upgraded-load', 'upgraded-counted', '--ignore-not-found', '--wait=false']
  await world.kubectl(['-n', SPACE, 'delete', 'pod', ...pods])
  await removeRelease()
})

/** Including its definitions, and therefore every gateway. */
async function removeRelease(): Promise<void> {
  await world.helm('uninstall', 'gw', '-n', SYSTEM, '--ignore-not-found', '--wait')
  await world.kubectl(['-n', SYSTEM, 'delete', ...OWN, '--ignore-not-found'])
  await world.kubectl(['delete', 'crd', '-l', RELEASE, '--ignore-not-found', '--wait'])
}

test('an earlier chart is upgraded, and no request fails', async () => {
  await ensureSpace(world)
  await world.helm(
    ...['install', 'gw', join(FORMER, CHART), '-n', SYSTEM, '--create-namespace', '--wait'],
    ...[
      '--timeout',
      `${SECONDS_MAX}s`,
      ...imageValues(FORMER_IMAGE ?? world.image),
      ...redisValues(),
    ],
  )
  await startModels(world)
  const former = await chartsOfDefinitions()
  const { key, object } = gatewayKey(NAME, 'acme')
  const books = gatewayKey(NAME, 'counted')
  await world.apply(aGateway(), object, books.object)
  await gatewayReady(world, NAME)
  const url = `http://${NAME}.${SPACE}.svc`
  load = await startLoad(world, 'upgraded-load', { url, key, rate: 50, streams: 10 })
  counted = await startLoad(world, 'upgraded-counted', { url, key: books.key, rate: 10 })
  await load.reaches(200, SECONDS_MAX)
  await ensureInstalled(world, ...redisValues())
  await rolledOut(world, 'deployment', 'gw', SYSTEM)
  // The current operator writes it, with the current rights.
  const podAnnotations = { 'example.com/release': 'today' }
  await world.apply(aGateway({ podAnnotations }))
  await rolledOut(world, 'deployment', NAME)
  await gatewayReady(world, NAME)
  await load.reaches((await load.report()).begun + 500, SECONDS_MAX)
  const report = await noneLost()
  const [release] = JSON.parse(await world.helm('list', '-n', SYSTEM, '-o', 'json'))
  const present = await chartsOfDefinitions()
  assert.deepEqual(present, [release.chart])
  assert.deepEqual(former, [CHART.replace('.tgz', '')])
  assert.notDeepEqual(present, former)
  const image = (await world.read('deployment', NAME)).spec
  assert.match(JSON.stringify(image), new RegExp(`"image":"${world.image}"`))
  const lost = `${report.lost} of ${report.begun} lost`
  show(
    'upgrade',
    `${lost} from ${former} to ${present}, definitions, operators and ${FORMER_IMAGE ? 'pods' : 'no image'} replaced`,
  )
})

test('the way back is refused before anything changes, and no request fails', async () => {
  const [definitions, operators] = [await chartsOfDefinitions(), await operatorImage()]
  const older = ['upgrade', 'gw', join(FORMER, CHART), '-n', SYSTEM, '--reset-values', '--atomic']
  const values = [...imageValues(FORMER_IMAGE ?? world.image), ...redisValues()]
  const refused = await world
    .helm(...older, '--timeout', `${SECONDS_MAX}s`, ...values)
    .then(() => 'taken', String)
  assert.match(refused, /drop newer fields|types are of release/)
  assert.deepEqual(await chartsOfDefinitions(), definitions)
  assert.equal(await operatorImage(), operators)
  await load.reaches((await load.report()).begun + 300, SECONDS_MAX)
  const report = await noneLost()
  show('back', `refused, nothing changed; ${report.lost} of ${report.begun} lost`)
})

test('one gateway goes back to the former image and forth again, and its budget counts each request once', async () => {
  if (FORMER_IMAGE !== undefined) {
    for (const image of [FORMER_IMAGE, world.image]) {
      await world.apply(aGateway({ image }))
      await rolledOut(world, 'deployment', NAME)
      await gatewayReady(world, NAME)
      await load.reaches((await load.report()).begun + 300, SECONDS_MAX)
    }
  }
  const report = await noneLost()
  await load.stop()
  const { tokens, answered } = await counted.stop()
  let used = 0
  await until(
    'the budget has them',
    async () => {
      used = await usedTokens()
      return used === tokens
    },
    30,
  ).catch(() => assert.equal(used, tokens, `of ${answered} answers`))
  show(
    'books',
    `${report.lost} of ${report.begun} lost; ${used} tokens in the budget, ${tokens} in answers`,
  )
})

const plenty = { requests_per_minute: 1_000_000, burst: 1_000_000, concurrent_requests: 10_000 }

function aGateway(spec: object = {}): object {
  const redis = {
    url: '${secret:gw-redis/url}',
    timeout_ms: 2000,
    fail_open: false,
    key_prefix: NAME,
  }
  const gw = {
    rate_limits: { backend: 'redis', redis, default: plenty },
    budgets: [{ tenant: 'counted', tokens_per_day: 1_000_000_000 }],
  }
  return gateway(NAME, { gw, spec: { replicas: 2, ...spec } })
}

/** Those that the store has for the tenant. */
async function usedTokens(): Promise<number> {
  const kubeconfig = process.env.E2E_KUBECONFIG ?? ''
  const place = ['--kubeconfig', kubeconfig, '-n', SPACE, '--gateway', NAME]
  const { stdout, stderr } = await tool(
    'limits',
    'show',
    '--tenant',
    'counted',
    ...place,
    '-o',
    'json',
  )
  const used = valueBelow(JSON.parse(stdout || '{}'), 'tokens_per_day', 'used')
  if (used === undefined) throw new Error(`no use of the budget: ${stdout.slice(0, 2000)}${stderr}`)
  return Number(used)
}

async function operatorImage(): Promise<string> {
  const { spec } = await world.read('deployment', 'gw', SYSTEM)
  return /"image":"([^"]*)"/.exec(JSON.stringify(spec))?.[1] ?? ''
}

async function noneLost() {
  const report = await load.report()
  assert.equal(report.lost + report.streams.cut + report.streams.refused, 0, describe(report))
  return report
}

/** The charts that the definitions name, each once. */
async function chartsOfDefinitions(): Promise<string[]> {
  const get = ['get', 'crd', '-l', RELEASE, '-o', 'json']
  const { items } = JSON.parse(await world.kubectl(get))
  const charts = items.map(
    ({ metadata }: { metadata: { labels: Record<string, string> } }) =>
      metadata.labels['helm.sh/chart'] ?? 'none',
  )
  return [...new Set<string>(charts)]
}
