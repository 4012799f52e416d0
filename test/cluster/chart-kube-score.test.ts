/** Checks the rendered chart with kube-score. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { renderText } from '../helpers/kubernetes/chart.ts'
import { providePrograms } from '../helpers/kubernetes/programs.ts'

/** The rules that the chart breaks on purpose, with the reason. */
const IGNORED = [
  // The pull policy is a value. With Always, a cluster could start no pod during an outage of its registry.
  '--ignore-test=container-image-pull-policy',
  // Nodes that do not report ephemeral storage, such as those of rootless kind, run no pod that requests it.
  '--ignore-test=container-ephemeral-storage-request-and-limit',
  // A limit throttles the event loop in parts of each tenth of a second, and every request with it.
  '--ignore-container-cpu-limit',
]

for (const set of ['defaults', 'everything', 'namespaced']) {
  test(`kube-score reports nothing critical for the values "${set}"`, async () => {
    const { 'kube-score': program = '' } = await providePrograms(['kube-score'])
    const input = await renderText(set)
    const args = ['score', '--output-format=ci', ...IGNORED, '-']
    const { status, stdout, stderr } = spawnSync(program, args, { input, encoding: 'utf8' })
    assert.deepEqual(
      stdout.split('\n').filter((line) => line.startsWith('[CRITICAL]')),
      [],
    )
    assert.equal(status, 0, stderr)
    assert.match(stdout, /^\[OK\] gw\/gw-system apps\/v1\/Deployment$/m)
  })
}
