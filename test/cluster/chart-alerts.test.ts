/** The alerts of the chart, judged by Prometheus' own tool: they fire when they should, and not before. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import { CHART, readChart } from '../helpers/kubernetes/chart.ts'

const RULES = join(CHART, 'files/alerts.yaml')
const UNIT_TESTS = join(import.meta.dirname, '../charts/alerts.rules-test.yaml')

/** As promtool calls it. */
interface AlertTest {
  readonly alertname: string
  readonly exp_alerts?: readonly object[]
}

const rules: { alert: string }[] = parse(readChart('files/alerts.yaml')).groups.flatMap(
  (group: { rules: { alert: string }[] }) => group.rules,
)

function promtool(...args: readonly string[]): void {
  const { status, stdout, stderr, error } = spawnSync('promtool', args, { encoding: 'utf8' })
  assert.equal(error, undefined, 'promtool is needed; apt-get install prometheus')
  assert.equal(status, 0, `${stdout}\n${stderr}`)
}

test('promtool takes the rules', () => promtool('check', 'rules', RULES))

test('every alert fires when its test says, and not before', () => {
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
