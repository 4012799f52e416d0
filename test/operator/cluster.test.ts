/** Where the cluster is and who we are: the same from our own reading and from the library's. */
import assert from 'node:assert/strict'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { openCluster } from '../../operator/kube/cluster.ts'
import { readPlainKubeconfig } from '../../operator/kube/kubeconfig.ts'

async function written(user: object, cluster: object = {}): Promise<string> {
  const file = join(await mkdtemp(join(tmpdir(), 'gw-kubeconfig-')), 'config')
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'one',
    contexts: [
      { name: 'one', context: { cluster: 'c', user: 'u', namespace: 'ai' } },
      { name: 'two', context: { cluster: 'c', user: 'u' } },
    ],
    clusters: [{ name: 'c', cluster: { server: 'https://10.0.0.1:6443', ...cluster } }],
    users: [{ name: 'u', user }],
  }
  await writeFile(file, JSON.stringify(config))
  return file
}

const encoded = (text: string) => Buffer.from(text).toString('base64')

test('certificates and tokens are read without the library, and as the library reads them', async () => {
  const user = {
    'client-certificate-data': encoded('cert'),
    'client-key-data': encoded('key'),
    token: 't',
  }
  const kubeconfig = await written(user, { 'certificate-authority-data': encoded('ca') })
  const plain = readPlainKubeconfig({ env: {}, kubeconfig })
  // A member that only the library knows makes it read the same file.
  const odd = await written(
    { ...user, 'auth-odd': 'x' },
    { 'certificate-authority-data': encoded('ca') },
  )
  assert.equal(readPlainKubeconfig({ env: {}, kubeconfig: odd }), undefined)
  const library = await openCluster({ env: {}, kubeconfig: odd })
  for (const cluster of [plain, library]) {
    assert.equal(cluster?.server, 'https://10.0.0.1:6443')
    assert.equal(cluster?.namespace, 'ai')
    const { authorization, tls } = (await cluster?.credentials()) ?? { tls: {} }
    assert.equal(authorization, 'Bearer t')
    assert.deepEqual([tls.ca, tls.cert, tls.key].map(String), ['ca', 'cert', 'key'])
  }
})

test('a plugin that gives credentials is run', async () => {
  const script = `process.stdout.write(JSON.stringify({apiVersion:'client.authentication.k8s.io/v1',kind:'ExecCredential',status:{token:'from-plugin'}}))`
  const exec = {
    apiVersion: 'client.authentication.k8s.io/v1',
    command: process.execPath,
    args: ['-e', script],
    interactiveMode: 'Never',
  }
  const cluster = await openCluster({ env: {}, kubeconfig: await written({ exec }) })
  assert.equal((await cluster.credentials()).authorization, 'Bearer from-plugin')
})

test('another context is another namespace, and one that is not there is named', async () => {
  const kubeconfig = await written({ token: 't' })
  assert.equal((await openCluster({ env: {}, kubeconfig, context: 'two' })).namespace, 'default')
  await assert.rejects(
    openCluster({ env: {}, kubeconfig, context: 'three' }),
    /no context "three".*one, two/,
  )
})

test('a kubeconfig that is not there is named, and so is the variable to set without one', async () => {
  await assert.rejects(
    openCluster({ env: {}, kubeconfig: '/nonexistent/config' }),
    /the kubeconfig \/nonexistent\/config cannot be used: ENOENT/,
  )
  const { HOME } = process.env
  process.env.HOME = await mkdtemp(join(tmpdir(), 'gw-home-'))
  try {
    await assert.rejects(openCluster({ env: {} }), /no cluster configured; set KUBECONFIG/)
  } finally {
    process.env.HOME = HOME
  }
})
