/** kube-score over the rendered chart. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { renderText } from '../helpers/kubernetes/chart.ts'
import { providePrograms } from '../helpers/kubernetes/programs.ts'

/** The rules that the chart breaks on purpose, and why. */
const IGNORED = [
  // A value; Always asks the registry at each start, and a cluster whose registry is away could start nothing.
  '--ignore-test=container-image-pull-policy',
  // Nodes that do not report ephemeral storage, as those of rootless kind, would run no pod that asks for it.
  '--ignore-test=container-ephemeral-storage-request-and-limit',
  // A limit throttles the event loop for parts of each tenth of a second, and with it every request.
  '--ignore-container-cpu-limit',
]

for (const set of ['defaults', 'everything', 'namespaced']) {
  test(`kube-score finds nothing critical in the values "${set}"`, async () => {
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
