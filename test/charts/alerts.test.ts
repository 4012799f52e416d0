/** The alerts and the dashboard of the chart use existing metrics. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parse } from 'yaml'
import { METRICS } from '../../dataplane/telemetry/metrics.ts'
import { createTelemetry } from '../../operator/telemetry.ts'
import { readChart } from '../helpers/kubernetes/chart.ts'

interface Rule {
  readonly alert: string
  readonly expr: string
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
}

const rules: Rule[] = parse(readChart('files/alerts.yaml')).groups.flatMap(
  (group: { rules: Rule[] }) => group.rules,
)

async function namesOfMetrics(): Promise<Set<string>> {
  const ofOperator = await createTelemetry().registry.getMetricsAsJSON()
  const all = [...Object.values(METRICS), ...ofOperator]
  return new Set(all.map(({ name }) => name))
}

/** A label of the scrape, not of the metric. */
const FROM_SCRAPE = ['namespace', 'gateway', 'le']

function metricsIn(expression: string): string[] {
  const found = expression.match(
    /\b(gw|controller_runtime|workqueue|leader_election|rest_client)_\w+/g,
  )
  return (found ?? []).map((name) => name.replace(/_(bucket|sum|count)$/, ''))
}

test('alerts and dashboard use existing metrics', async () => {
  const known = await namesOfMetrics()
  const { panels } = JSON.parse(readChart('files/dashboard.generated.json'))
  const expressions: string[] = [
    ...rules.map(({ expr }) => expr),
    ...panels.flatMap((panel: { targets: { expr: string }[] }) =>
      panel.targets.map(({ expr }) => expr),
    ),
  ]
  for (const expression of expressions) {
    const asked = metricsIn(expression)
    assert.notEqual(asked.length, 0, expression)
    for (const name of asked) assert.ok(known.has(name), `${name} in ${expression}`)
  }
})

test('they group by labels of these metrics', async () => {
  const labels = new Map(
    Object.values(METRICS).map(({ name, labels }) => [name, labels as readonly string[]]),
  )
  const { panels } = JSON.parse(readChart('files/dashboard.generated.json'))
  const expressions: string[] = [
    ...rules.map(({ expr }) => expr),
    ...panels.flatMap((panel: { targets: { expr: string }[] }) =>
      panel.targets.map(({ expr }) => expr),
    ),
  ]
  for (const expression of expressions) {
    const has = metricsIn(expression).flatMap((name) => labels.get(name) ?? [])
    if (has.length === 0) continue
    const by = [...expression.matchAll(/by \(([^)]*)\)/g)].flatMap(([, names = '']) =>
      names.split(/, */),
    )
    for (const name of by) {
      assert.ok([...has, ...FROM_SCRAPE].includes(name), `${name} in ${expression}`)
    }
  }
})

test('every alert has its severity, the event, and a place to look', () => {
  for (const { alert, labels, annotations } of rules) {
    assert.match(labels.severity ?? '', /^(critical|warning|info)$/, alert)
    assert.ok(annotations.summary && annotations.description, alert)
  }
})
