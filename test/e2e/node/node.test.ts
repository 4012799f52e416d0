/**
 * The node of the end-to-end tests does what a cluster does, and removes the remains of a crash.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { after, before, test } from 'node:test'
import type { Kubectl } from '../../helpers/kubernetes/kubectl.ts'
import { providePrograms } from '../../helpers/kubernetes/programs.ts'
import { until } from '../../helpers/until.ts'
import { killDaemon } from './daemons.ts'
import { TOOLS } from './images.ts'
import { FOLDER, inNetwork, KUBECONFIG, NETWORK } from './layout.ts'
import { ensureNode, isNodeReady, nodeKubectl } from './node.ts'
import { removeNode } from './remove.ts'
import { BUSYBOX, run } from './system.ts'

const SPACE = 'smoke'
const GREETING = 'it is served'
let kubectl: Kubectl

before(async () => {
  await ensureNode()
  kubectl = await nodeKubectl()
  await kubectl(['create', 'namespace', SPACE])
  await apply(helloObjects())
  await kubectl(['-n', SPACE, 'rollout', 'status', 'deployment/hello', '--timeout=300s'])
})

after(async () => {
  await kubectl(['delete', 'namespace', SPACE, '--ignore-not-found'])
})

async function apply(objects: readonly object[]): Promise<void> {
  const stdin = objects.map((object) => JSON.stringify(object)).join('\n---\n')
  await kubectl(['-n', SPACE, 'apply', '--server-side', '-f', '-'], { stdin })
}

function helloObjects(): object[] {
  const labels = { app: 'hello' }
  const serve = `echo started; echo "${GREETING}" > /tmp/index.html; exec httpd -f -v -p 8080 -h /tmp`
  const container = {
    name: 'hello',
    image: TOOLS,
    imagePullPolicy: 'Never',
    command: ['/bin/sh', '-c', serve],
    readinessProbe: { httpGet: { path: '/index.html', port: 8080 }, periodSeconds: 1 },
  }
  const spec = { selector: labels, ports: [{ port: 80, targetPort: 8080 }] }
  return [
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'hello' },
      spec: {
        replicas: 2,
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: { containers: [container], terminationGracePeriodSeconds: 1 },
        },
      },
    },
    { apiVersion: 'v1', kind: 'Service', metadata: { name: 'hello' }, spec },
  ]
}

test('a pod reaches a Service by its DNS name, from another namespace too', async () => {
  const wget = (host: string) =>
    kubectl(['-n', SPACE, 'exec', 'deploy/hello', '--', 'wget', '-qO-', `http://${host}/`])
  assert.match(await wget('hello'), new RegExp(GREETING))
  assert.match(await wget(`hello.${SPACE}.svc.cluster.local`), new RegExp(GREETING))
})

test('logs and exec reach a container', async () => {
  assert.match(await kubectl(['-n', SPACE, 'logs', 'deploy/hello']), /started/)
  const resolvConf = await kubectl([
    '-n',
    SPACE,
    'exec',
    'deploy/hello',
    '--',
    'cat',
    '/etc/resolv.conf',
  ])
  assert.match(resolvConf, new RegExp(`search ${SPACE}.svc.cluster.local`))
})

test('port-forward leads to a pod', async () => {
  const programs = await providePrograms(['kubectl'])
  const args = ['-n', SPACE, 'port-forward', 'deploy/hello', ':8080']
  const child = spawn(...inNetwork(programs.kubectl ?? '', args), {
    env: { ...process.env, KUBECONFIG },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    const [line] = await once(createInterface(child.stdout), 'line')
    const port = /127\.0\.0\.1:(\d+)/.exec(line)?.[1]
    const get = inNetwork(BUSYBOX, ['wget', '-qO-', `http://127.0.0.1:${port}/`])
    assert.match(await run(...get), new RegExp(GREETING))
  } finally {
    child.kill()
  }
})

test('a running node is used again, and the next start removes the remains of a crash', async () => {
  assert.equal(await ensureNode(), false)
  await killDaemon('kubelet')
  await killDaemon('containerd')
  assert.equal(await isNodeReady(), false)
  await removeNode()
  assert.ok(!existsSync(FOLDER) && !existsSync(NETWORK))
  const left = (await run('ps', ['-eo', 'args'])).split('\n')
  assert.deepEqual(
    left.filter((line) => line.includes(FOLDER) || line.startsWith('httpd')),
    [],
  )
  assert.equal(await ensureNode(), true)
  await until('pods can be created', async () =>
    (await kubectl(['get', 'pods', '-A'])).includes('Running'),
  )
})
