/** The address of the cluster and our identity: the same from our own reading and from the library's. */
import assert from 'node:assert/strict'
import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { ApiClient } from '../../operator/kube/api.ts'
import { openCluster } from '../../operator/kube/cluster.ts'
import { readPlainKubeconfig } from '../../operator/kube/kubeconfig.ts'
import { RESOURCES } from '../../operator/kube/objects.ts'
import { startScriptedApi } from './scripted-api.ts'

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

test('certificates and tokens are read without the library, and like the library reads them', async () => {
  const user = {
    'client-certificate-data': encoded('cert'),
    'client-key-data': encoded('key'),
    token: 't',
  }
  const kubeconfig = await written(user, { 'certificate-authority-data': encoded('ca') })
  const plain = readPlainKubeconfig({ env: {}, kubeconfig })
  // A member that only the library supports makes it read the same file.
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

test('a plugin for credentials is run', async () => {
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

test('another context is another namespace, and a missing one is named', async () => {
  const kubeconfig = await written({ token: 't' })
  assert.equal((await openCluster({ env: {}, kubeconfig, context: 'two' })).namespace, 'default')
  await assert.rejects(
    openCluster({ env: {}, kubeconfig, context: 'three' }),
    /no context "three".*one, two/,
  )
})

test('a missing kubeconfig is named, and so is the variable to set without one', async () => {
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

const lacking: readonly (readonly [what: string, config: object | string, says: RegExp])[] = [
  ['no kubeconfig at all', 'hello', /cannot be used: it has no contexts/],
  [
    'no context chosen',
    { 'current-context': '' },
    /no current-context; choose .*--context: one, two$/,
  ],
  ['a context that is missing', { 'current-context': 'three' }, /no context "three".*: one, two$/],
  [
    'a cluster that is missing',
    { clusters: [] },
    /context "one" names the cluster "c", which it lacks/,
  ],
  ['a user that is missing', { users: [] }, /context "one" names the user "u", which it lacks/],
  [
    'a server that is no URL',
    { clusters: [{ name: 'c', cluster: { server: '10.0.0.1:6443' } }] },
    /server of its cluster "c" is "10\.0\.0\.1:6443"; write a URL such as https:/,
  ],
]
for (const [what, config, says] of lacking) {
  test(`a kubeconfig with ${what} is reported with the file`, async () => {
    const kubeconfig = await written({ token: 't' })
    const whole =
      typeof config === 'string'
        ? config
        : { ...JSON.parse(await readFile(kubeconfig, 'utf8')), ...config }
    await writeFile(kubeconfig, typeof whole === 'string' ? whole : JSON.stringify(whole))
    const opened = openCluster({ env: {}, kubeconfig })
    await assert.rejects(opened, says)
    await assert.rejects(opened, (error: Error) => error.message.includes(kubeconfig))
  })
}

test('a missing file of a kubeconfig is named', async () => {
  const kubeconfig = await written({ 'client-certificate': '/nonexistent/me.crt' })
  const cluster = await openCluster({ env: {}, kubeconfig })
  await assert.rejects(
    cluster.credentials(),
    /kubeconfig .* cannot be used: ENOENT.*nonexistent\/me\.crt/,
  )
})

test('a plugin that is missing, fails or returns nothing is named, with its message', async () => {
  const faultOf = async (command: string, args: readonly string[] = []) => {
    const apiVersion = 'client.authentication.k8s.io/v1'
    const exec = { apiVersion, command, args, interactiveMode: 'Never' }
    const cluster = await openCluster({ env: {}, kubeconfig: await written({ exec }) })
    return await cluster.credentials().then(() => 'given', String)
  }
  const node = process.execPath
  const fails = 'process.stderr.write("session ended\\n"); process.exitCode = 1'
  assert.match(
    await faultOf('/nonexistent/plugin'),
    /from \/nonexistent\/plugin for user "u".*ENOENT/,
  )
  assert.match(await faultOf(node, ['-e', fails]), /session ended\. Run it by hand/)
  assert.match(
    await faultOf(node, ['-e', 'process.exitCode = 1']),
    /it fails, or its answer has none/,
  )
  assert.match(
    await faultOf(node, ['-e', 'process.stdout.write("{}")']),
    /it fails, or its answer has none/,
  )
})

test('requests use the proxy of a kubeconfig', async () => {
  const api = await startScriptedApi()
  const asked: string[] = []
  const proxy = createServer().on('connect', (request, client) => {
    asked.push(request.url ?? '')
    const { port, hostname } = new URL(`http://${request.url}`)
    const server = connect(Number(port), hostname, () => {
      client.write('HTTP/1.1 200 Connection Established\r\n\r\n')
      client.pipe(server).pipe(client)
    })
    server.on('error', () => client.destroy())
    client.on('error', () => server.destroy())
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  const { port } = proxy.address() as AddressInfo
  const place = { server: api.origin, 'proxy-url': `http://127.0.0.1:${port}` }
  const cluster = await openCluster({ env: {}, kubeconfig: await written({ token: 't' }, place) })
  const client = new ApiClient({ cluster })
  try {
    await client.list(RESOURCES.pods, {}, { limit: 1 })
    assert.deepEqual(asked, [new URL(api.origin).host])
  } finally {
    await client.close()
    proxy.close()
    await api.stop()
  }
})
