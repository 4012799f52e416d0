/**
 * The incident of each alert of the chart, planted in the cluster: the alert's expression holds, and the commands of its
 * page print the cause. GW_LONG=1 plants all and writes runbooks.md; GW_INCIDENT chooses some by parts of the alert's name.
 */
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { RULES } from '../helpers/kubernetes/alert-page.ts'
import { NAME, openRig, type Rig } from './incidents/rig.ts'
import { GATEWAY_INCIDENTS, SECURED } from './runbooks/gateways.ts'
import { OPERATOR_INCIDENTS } from './runbooks/operator.ts'
import { prove, rowOf, type Shown } from './runbooks/planted.ts'
import { TENANT_INCIDENTS } from './runbooks/tenants.ts'
import { endWatch, startWatch, type Watch } from './runbooks/watch.ts'
import { MONITORING } from './spaces.ts'
import { show } from './table.ts'

const { GW_LONG, GW_INCIDENT, E2E_PROMETHEUS_IMAGE: PROMETHEUS } = process.env
const PAGE = join(import.meta.dirname, 'runbooks.md')
/** Those that take seconds. */
const SHORT = ['ReconcileFailing', 'NotReady', 'Refused', 'ErrorRatio', 'Threshold', 'QuotaFull']
const ALL = [...OPERATOR_INCIDENTS, ...GATEWAY_INCIDENTS, ...TENANT_INCIDENTS]
const CHOSEN = GW_INCIDENT !== undefined ? GW_INCIDENT.split(',') : GW_LONG ? [''] : SHORT
const PLANTED = ALL.filter(({ alert }) => CHOSEN.some((part) => alert.includes(part)))

const shown: Shown[] = []
let rig: Rig | undefined
let watch: Watch | undefined

before(async () => {
  if (PROMETHEUS === undefined) return
  rig = await openRig()
  await rig.enforced()
  watch = await startWatch(rig.world, PROMETHEUS, { [NAME]: 2, [SECURED]: 0 })
})

after(async () => {
  await rig?.world.kubectl(['delete', 'namespace', MONITORING, '--ignore-not-found'])
  if (rig !== undefined) await endWatch(rig.world, [NAME, SECURED])
  await rig?.close()
})

test('each alert has an incident', () => {
  const alerts = RULES.map(({ alert }) => alert)
  const planted = new Set(ALL.map(({ alert }) => alert))
  assert.deepEqual(
    alerts.filter((alert) => !planted.has(alert)),
    [],
  )
})

for (const planted of PLANTED) {
  const { alert, what } = planted
  test(`${alert} holds, and its page leads to ${what}`, async () => {
    if (rig === undefined || watch === undefined) return
    const rule = RULES.find((one) => one.alert === alert)
    assert.ok(rule !== undefined, `${alert} is no alert of the chart`)
    shown.push(await prove(rig, watch, rule, planted))
  })
}

test('each planted incident was explained', async () => {
  if (PROMETHEUS === undefined)
    return show('runbooks', 'E2E_PROMETHEUS_IMAGE names no Prometheus image')
  assert.equal(shown.length, PLANTED.length)
  const alerts = new Set(shown.map(({ alert }) => alert)).size
  const longest = Math.max(...shown.map(({ seconds }) => seconds))
  show(
    'runbooks',
    `${alerts} of ${RULES.length} alerts, held after ${longest.toFixed(0)} s at most`,
  )
  if (CHOSEN[0] === '') await writeFile(PAGE, pageOf(shown))
})

function pageOf(all: readonly Shown[]): string {
  return `# Alerts and their pages

\`GW_LONG=1 npm run test:e2e -- test/e2e/runbooks.test.ts\` plants the incident of each alert in a cluster of one node,
waits until the alert's expression holds, without its \`for\`, runs the three commands of
[its page](../../charts/gw/docs/alerts.md), and writes this page. The seconds contain the plant and the requests; \`by\` has
the commands that print the cause, by their places.

| alert | planted | seconds | by | the cause as printed |
| --- | --- | --- | --- | --- |
${all.map(rowOf).join('\n')}
`
}
