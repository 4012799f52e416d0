/**
 * A Prometheus in the cluster finds the targets of the chart's monitors, scrapes them, counts
 * correctly, and evaluates the alerts.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { after, before, test } from 'node:test'
import { parse, parseAllDocuments } from 'yaml'
import { readChart, renderText } from '../helpers/kubernetes/chart.ts'
import { until } from '../helpers/until.ts'
import { discover } from './discovery.ts'
import { describe, startLoad } from './load.ts'
import { type Monitor, scrapeConfigsOf } from './monitors.ts'
import { gateway, gatewayKey } from './objects.ts'
import { type Prometheus, startPrometheus } from './prometheus.ts'
import { MONITORING, SPACE, SYSTEM } from './spaces.ts'
import { show } from './table.ts'
import { gatewayReady, openWorld, prepare, SECONDS_MAX, type World } from './world.ts'

const NAME = 'watched'
const REPLICAS = 2
const OPERATORS = 2
const REQUESTS = 500
/** Only Prometheus may read them, as the chart's documents say. */
const READERS = [
  { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': MONITORING } } },
]
const ADMITTED = `networkPolicy.metricsFrom=${JSON.stringify(READERS)}`
const MONITORS = ['serviceMonitor', 'podMonitor', 'prometheusRule']
let world: World
let prometheus: Prometheus | undefined

before(async () => {
  world = await openWorld()
  await prepare(world, '--set-json', ADMITTED)
  const spec = { replicas: REPLICAS, networkPolicy: { metrics: READERS } }
  await world.apply(gateway(NAME, { spec }))
  await gatewayReady(world, NAME)
  const image = process.env.E2E_PROMETHEUS_IMAGE
  if (image !== undefined) prometheus = await startPrometheus(world, await watching(image))
})

after(async () => {
  await world.kubectl(['delete', 'namespace', MONITORING, '--ignore-not-found'])
  await world.kubectl(['-n', SPACE, 'delete', 'gatewayconfig', NAME, '--ignore-not-found'])
})

/**
 * The chart's objects for the Prometheus operator; scraped every second, so that the test does not
 * wait.
 */
async function watching(image: string) {
  const flags = MONITORS.map((name) => `metrics.${name}.enabled=true`)
  for (const name of ['serviceMonitor', 'podMonitor']) flags.push(`metrics.${name}.interval=1s`)
  const text = await renderText('defaults', 'helm', [
    '--show-only=templates/monitoring.yaml',
    ...flags.map((flag) => `--set=${flag}`),
  ])
  const objects: Monitor[] = parseAllDocuments(text).map((one) => one.toJS())
  const rules = objects.find(({ kind }) => kind === 'PrometheusRule')?.spec ?? {}
  const monitors = objects.filter(({ kind }) => kind !== 'PrometheusRule')
  assert.equal(monitors.length, 2)
  return { image, scrapes: scrapeConfigsOf(monitors, await discover(world)), rules }
}

test('the monitors find each operator and each pod of a gateway, and their targets are up', async () => {
  if (prometheus === undefined)
    return show('metrics', 'E2E_PROMETHEUS_IMAGE names no Prometheus image')
  const { query } = prometheus
  const isAllUp = async () => (await query('up == 1')).length === OPERATORS + REPLICAS
  await until('everything is up', isAllUp, SECONDS_MAX)
  const known = (await query('up')).map(({ metric }) => `${metric.namespace}/${metric.pod}`)
  const operators = await podsOf(SYSTEM, 'app.kubernetes.io/component=operator')
  const pods = await podsOf(SPACE, `inference.gw/gateway=${NAME}`)
  assert.deepEqual(known.sort(), [...pods, ...operators].sort())
})

test("Prometheus' counts equal the sent requests", async () => {
  if (prometheus === undefined) return
  const { query } = prometheus
  const { key, object } = gatewayKey(NAME, 'acme')
  await world.apply(object)
  const url = `http://${NAME}.${SPACE}.svc`
  const load = await startLoad(world, 'watched-load', { url, key, rate: 50 })
  await load.reaches(REQUESTS, SECONDS_MAX)
  const { begun, answered, ...report } = await load.stop()
  assert.equal(answered, begun, describe({ begun, answered, ...report }))
  const counted = async () =>
    Number((await query(`sum(gw_requests_total{gateway="${NAME}"})`))[0]?.value[1] ?? 0)
  await until('all are counted', async () => (await counted()) >= begun, SECONDS_MAX)
  assert.equal(await counted(), begun)
  const up = OPERATORS + REPLICAS
  show('metrics', `${up} of ${up} up, ${await counted()} of ${begun} requests counted`)
})

test('the alerts of the chart are loaded, can be evaluated, and do not fire', async () => {
  if (prometheus === undefined) return
  const { rules } = prometheus
  const shipped = parse(readChart('files/alerts.yaml')).groups.flatMap(
    (group: { rules: { alert: string }[] }) => group.rules.map(({ alert }) => alert),
  )
  const isJudged = async () => (await rules()).every(({ health }) => health !== 'unknown')
  await until('each was judged', isJudged, SECONDS_MAX)
  const isQuiet = async () => (await rules()).every(({ state }) => state === 'inactive')
  await until('no alert is pending or firing', isQuiet, SECONDS_MAX)
  const loaded = await rules()
  assert.deepEqual(loaded.map(({ name }) => name).sort(), shipped.sort())
  const wrong = loaded.filter(({ health }) => health !== 'ok')
  assert.deepEqual(wrong, [])
  show('alerts', `${loaded.length} loaded, each healthy and quiet`)
})

test('Prometheus can answer every query of the dashboard', async () => {
  if (prometheus === undefined) return
  const { panels }: { panels: { targets?: { expr: string }[] }[] } = JSON.parse(
    readChart('files/dashboard.generated.json'),
  )
  const asked = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
  const chosen = asked.map((expression) =>
    expression
      .replaceAll('$namespace', SPACE)
      .replaceAll('$gateway', NAME)
      .replaceAll('$__rate_interval', '5m'),
  )
  const { query } = prometheus
  for (const expression of chosen) await query(expression)
  const requests = chosen.find((expression) => expression.includes('gw_requests_total')) ?? ''
  assert.ok((await query(requests)).length > 0, requests)
})

test('promtool finds no fault in the metrics of the operator and of a gateway pod', async () => {
  const [operator = ''] = await podsOf(SYSTEM, 'app.kubernetes.io/component=operator')
  const [pod = ''] = await podsOf(SPACE, `inference.gw/gateway=${NAME}`)
  for (const target of [`${operator}:8081`, `${pod}:9090`]) {
    const [namespace = '', name = ''] = target.split('/')
    const path = `/api/v1/namespaces/${namespace}/pods/${name}/proxy/metrics`
    const input = await world.kubectl(['get', '--raw', path])
    assert.match(input, /^# TYPE /m)
    const ran = spawnSync('promtool', ['check', 'metrics'], { input, encoding: 'utf8' })
    assert.equal(ran.error, undefined, 'promtool is needed; apt-get install prometheus')
    const complaints = `${ran.stdout}${ran.stderr}`.split('\n').filter((line) => line !== '')
    // The library defines these three names, and they are known under them everywhere.
    const ours = complaints.filter((line) => !line.startsWith('nodejs_active_'))
    assert.deepEqual(ours, [], target)
  }
})

test('if readers are named, no other pod may read the metrics', async () => {
  for (const [namespace, name, port] of [
    [SYSTEM, 'gw', 8081],
    [SPACE, NAME, 9090],
  ] as const) {
    const { spec } = await world.read('networkpolicy', name, namespace)
    const { ingress } = spec as { ingress: { ports: { port: number }[]; from?: object[] }[] } // As Kubernetes says.
    const rules = ingress.filter(({ ports }) => ports.some((one) => one.port === port))
    assert.deepEqual(
      rules.map(({ from }) => from),
      [READERS],
    )
  }
})

/** As `namespace/name`, without pods that are terminating. */
async function podsOf(namespace: string, selector: string): Promise<string[]> {
  const get = ['-n', namespace, 'get', 'pods', '-l', selector, '-o', 'json']
  const { items } = JSON.parse(await world.kubectl(get))
  return items
    .filter(
      (item: { metadata: { deletionTimestamp?: string } }) => !item.metadata.deletionTimestamp,
    )
    .map((item: { metadata: { name: string } }) => `${namespace}/${item.metadata.name}`)
}
