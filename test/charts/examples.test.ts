/** The examples of the chart: valid as files, listed, and as described. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import { CHART, readChart } from '../helpers/kubernetes/chart.ts'

const TOOL = join(import.meta.dirname, '../../cli/main.ts')
const examples = readdirSync(join(CHART, 'examples')).filter((name) => name.endsWith('.yaml'))
const kindOf = (file: string) => parse(readChart(`examples/${file}`)).kind

/** Facts that a file alone cannot show: keys as resources, and things that exist only on the gateway's machine. */
const EXPECTED =
  /is not set here|leads nowhere here|there are no API keys|no key belongs to tenant "research"/

for (const file of examples.filter((name) => kindOf(name) === 'GatewayConfig')) {
  test(`gw config validate takes ${file}`, () => {
    const path = join(CHART, 'examples', file)
    const ran = spawnSync(process.execPath, [TOOL, 'config', 'validate', '--file', path], {
      encoding: 'utf8',
      env: { ...process.env, REDIS_URL: 'redis://redis:6379' },
    })
    assert.equal(ran.status, 0, ran.stderr)
    const warnings = ran.stderr.split('\n').filter((line) => line.includes('warning:'))
    assert.deepEqual(
      warnings.filter((line) => !EXPECTED.test(line)),
      [],
    )
  })
}

test('Flux does not change the examples', () => {
  for (const file of examples) {
    const { annotations } = parse(readChart(`examples/${file}`)).metadata
    assert.equal(annotations['kustomize.toolkit.fluxcd.io/substitute'], 'disabled', file)
  }
})

test('the README of the chart lists every example', () => {
  for (const file of examples)
    assert.ok(readChart('README.md').includes(`(examples/${file})`), file)
})

test('the key of the quick start is that of its comment', async () => {
  const { createHash } = await import('node:crypto')
  const text = readChart('examples/quick-start.yaml')
  const key = /gw_demo_\w+_\w{49}/.exec(text)?.[0] ?? ''
  const [record] = parse(text).gw.api_keys
  assert.equal(record.hash, `sha256:${createHash('sha256').update(key).digest('hex')}`)
})
