/** Tests the chart's alerts with Prometheus' own tool: they fire in time, and not too early. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import { CHART, readChart } from '../helpers/kubernetes/chart.ts'
import { INCIDENTS, readMinutes } from './planted-incidents.ts'

const RULES = join(CHART, 'files/alerts.yaml')
const UNIT_TESTS = join(import.meta.dirname, '../charts/alerts.rules-test.yaml')

/** As promtool calls it. */
interface AlertTest {
  readonly alertname: string
  readonly exp_alerts?: readonly object[]
}

interface Rule {
  readonly alert: string
  readonly expr: string
}

const rules: Rule[] = parse(readChart('files/alerts.yaml')).groups.flatMap(
  (group: { rules: Rule[] }) => group.rules,
)

function promtool(...args: readonly string[]): void {
  const { status, stdout, stderr, error } = spawnSync('promtool', args, { encoding: 'utf8' })
  assert.equal(error, undefined, 'promtool is missing; run apt-get install prometheus')
  assert.equal(status, 0, `${stdout}\n${stderr}`)
}

test('promtool accepts the rules, and the scrape configuration for a Prometheus without its operator', () => {
  promtool('check', 'rules', RULES)
  const written = readChart('files/prometheus.yaml')
  // Debian builds Prometheus without its Kubernetes discovery.
  const text = written.replace(/kubernetes_sd_configs: .*/g, 'static_configs: []')
  assert.notEqual(text, written)
  const folder = mkdtempSync(join(tmpdir(), 'gw-scrapes-'))
  writeFileSync(join(folder, 'alerts.yaml'), readChart('files/alerts.yaml'))
  writeFileSync(join(folder, 'prometheus.yaml'), text)
  promtool('check', 'config', join(folder, 'prometheus.yaml'))
  rmSync(folder, { recursive: true })
})

test('every alert fires at the time of its test, and not earlier', () => {
  promtool('test', 'rules', UNIT_TESTS)
  const { tests }: { tests: { alert_rule_test: AlertTest[] }[] } = parse(
    readFileSync(UNIT_TESTS, 'utf8'),
  )
  const asked = tests.flatMap((one) => one.alert_rule_test)
  for (const { alert } of rules) {
    const fires = asked.filter(({ alertname }) => alertname === alert)
    assert.ok(
      fires.some(({ exp_alerts }) => exp_alerts !== undefined),
      `${alert} is never fired`,
    )
    assert.ok(
      fires.some(({ exp_alerts }) => exp_alerts === undefined),
      `${alert} is never quiet`,
    )
  }
})

const QUIET = 25
const MINUTES = 65

/** Whether the alert has fired within `range`, as 1 or 0. */
const fired = (alert: string, range: string) =>
  `(sum(count_over_time(ALERTS{alertname="${alert}", alertstate="firing"}[${range}])) > bool 0) or vector(0)`

test('an alert fires at the first incident of a gateway or an operator', async () => {
  const tests = []
  for (const { alert, expr } of rules) {
    const incident = INCIDENTS[alert]
    assert.ok(incident, `${alert} has no incident; add one to planted-incidents.ts`)
    const names = [...new Set(expr.match(/\b(gw|controller_runtime|leader_election)_\w+/g))]
    const series = await readMinutes(incident, names, { quiet: QUIET, minutes: MINUTES })
    tests.push({
      name: alert,
      interval: '1m',
      input_series: [...series].map(([name, values]) => ({
        series: name,
        values: values.join(' '),
      })),
      promql_expr_test: [
        [QUIET - 1, '24m', 0],
        [MINUTES - 1, '39m', 1],
      ].map(([minute, range, value]) => ({
        expr: fired(alert, String(range)),
        eval_time: `${minute}m`,
        exp_samples: [{ labels: '{}', value }],
      })),
    })
  }
  const folder = mkdtempSync(join(tmpdir(), 'gw-incidents-'))
  const file = join(folder, 'incidents.json')
  writeFileSync(file, JSON.stringify({ rule_files: [RULES], evaluation_interval: '1m', tests }))
  promtool('test', 'rules', file)
  rmSync(folder, { recursive: true })
})
