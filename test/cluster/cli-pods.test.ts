/** The CLI's requests to pods through the port-forward of a real API server, and its commands for GatewayKeys. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { after, before, test } from 'node:test'
import { aKey } from '../helpers/a-key.ts'
import { collectOutput } from '../helpers/gateway-process.ts'
import { gw, TOOL } from '../helpers/gw.ts'
import { until } from '../helpers/until.ts'
import { ENDED, type ForwardingNode, startForwardingNode } from './forwarding-node.ts'
import { untilCondition } from './operator-process.ts'
import { aGateway, type OperatorRig, startOperatorRig } from './operator-rig.ts'

let rig: OperatorRig
let node: ForwardingNode
let cluster: readonly string[]

const { key, record } = aKey({ id: 'first', prefix: 'gw_test_first_abcd' })
const ask = (...args: readonly string[]) => gw(...args, ...cluster)

before(async () => {
  rig = await startOperatorRig()
  cluster = ['--kubeconfig', rig.cluster.kubeconfig, '-n', 'ai']
  node = await startForwardingNode(rig)
  const upstreams = [
    { name: 'local', provider: 'vllm', endpoint: 'http://127.0.0.1:1', model: 'm' },
    {
      name: 'copies',
      provider: 'vllm',
      endpoint: 'http://localhost:1',
      endpoints: 'dns',
      model: 'm',
    },
  ]
  await rig.apply(aGateway({ gw: { upstreams, api_keys: [record], aliases: { old: 'chat' } } }))
  await untilCondition(rig.cluster, 'production', ['Ready', 'True'], 90)
  await node.adoptPods()
})

after(async () => {
  await node?.stop()
  await rig?.stop()
})

test('trace get finds the pod that decided a request', async () => {
  for (const { name, url } of rig.kubelet.pods()) {
    const answer = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'chat', messages: [{ role: 'user', content: 'hi' }] }),
    })
    await answer.text()
    const id = answer.headers.get('x-request-id') ?? ''
    const { code, stdout, stderr } = await ask('trace', 'get', id)
    assert.equal(code, 0, stderr)
    assert.match(stdout, new RegExp(`^${id} .*[45]\\d\\d`))
    assert.match(stdout, new RegExp(`by ${name}, body after`))
  }
  const unknown = await ask('trace', 'get', 'none-1')
  assert.equal(unknown.code, 1)
})

test("status shows an upstream's endpoints over all pods", async () => {
  const { stdout } = await ask('status', '--gateway', 'production')
  assert.match(stdout, /^endpoints of copies: 1\n {2}127\.0\.0\.1:1 {2}\w+/m)
})

test('the console shows every pod through a port-forward, and ends with Ctrl-C', async () => {
  const tool = spawn(process.execPath, [TOOL, 'console', '--no-browser', ...cluster])
  const output = collectOutput(tool)
  await until('the address is printed', () => output().includes('#token='))
  const [, origin = '', token = ''] = /^(http:\S+)\/console\/#token=(\S+)$/m.exec(output()) ?? []
  const headers = { authorization: `Bearer ${token}` }
  const answer = await fetch(`${origin}/console/events`, { headers })
  let text = ''
  for await (const piece of answer.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += piece
    if (/data: .*\n\n/.test(text)) break
  }
  const { pods } = JSON.parse(/data: (.*)/.exec(text)?.[1] ?? '')
  const names = rig.kubelet.pods().map(({ name }) => name)
  assert.deepEqual(pods.map((pod: { name: string }) => pod.name).toSorted(), names.toSorted())
  for (const { path, status } of pods) {
    assert.equal(status.state, 'serving')
    const limits = await fetch(`${origin}${path}/limits`, { headers })
    assert.equal(JSON.parse(await limits.text()).tenants[0].tenant, 'acme')
  }
  const { metadata, status, ...rest } = JSON.parse(
    await (await fetch(`${origin}/cluster`, { headers })).text(),
  )
  assert.deepEqual([metadata, rest], [{ name: 'production', namespace: 'ai', generation: 1 }, {}])
  const enforced = status.pods.map((pod: { name: string; state: string; generation: number }) => [
    pod.name,
    pod.state,
    pod.generation,
  ])
  assert.deepEqual(
    enforced.toSorted(),
    names.toSorted().map((name) => [name, 'Programmed', 1]),
  )
  tool.kill('SIGINT')
  assert.deepEqual(await once(tool, 'exit'), [130, null])
})

async function chatAt(url: string): Promise<string> {
  const answer = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: '{"model":"chat","messages":[{"role":"user","content":"hi"}]}',
  })
  await answer.text()
  return answer.headers.get('x-request-id') ?? ''
}

test('logs prints the lines of all pods in order, and continues with -f', async () => {
  const pods = rig.kubelet.pods()
  const ids = [await chatAt(pods[0]?.url ?? ''), await chatAt(pods[1]?.url ?? '')]
  await until('the pods wrote the lines', () =>
    ids.every((id) => pods.some((pod) => pod.output().includes(id))),
  )
  const past = await ask('logs', 'gwc/production', '--tenant', 'acme', '-o', 'name')
  assert.deepEqual(past.stdout.trim().split('\n').slice(-2), ids, past.stderr)
  const named = await ask('logs', '--request-id', ids[1] ?? '', '-o', 'json')
  assert.equal(JSON.parse(named.stdout).pod, pods[1]?.name)
  const child = spawn(process.execPath, [
    TOOL,
    'logs',
    '-f',
    '--tail',
    '0',
    '-o',
    'name',
    ...cluster,
  ])
  const output = collectOutput(child)
  const ended = once(child, 'close')
  const seen: string[] = []
  await until('new requests are shown', async () => {
    seen.push(await chatAt(pods[seen.length % 2]?.url ?? ''))
    return (
      output()
        .trim()
        .split('\n')
        .filter((id) => seen.includes(id)).length >= 4
    )
  })
  child.kill('SIGINT')
  assert.deepEqual(await ended, [130, null])
})

test('logs --previous prints the lines of restarted containers, and names the other pods', async () => {
  const [first, second] = rig.kubelet.pods()
  const { code, stdout, stderr } = await ask('logs', '--previous', '-o', 'json')
  assert.equal(code, 0, stderr)
  assert.deepEqual(JSON.parse(stdout), { pod: first?.name, ...JSON.parse(ENDED) })
  assert.match(stderr, new RegExp(`${second?.name}: its container has not been restarted`))
})

test('trace list shows the traces of all pods', async () => {
  const { stdout } = await ask('trace', 'list', '-o', 'json')
  const tags = JSON.parse(stdout).traces.map(
    ({ request_id }: { request_id: string }) => request_id.split('-')[0],
  )
  assert.equal(new Set(tags).size, 2)
})

test('limits, explain and test ask a pod', async () => {
  const limits = await ask('limits', 'show', '--tenant', 'acme')
  assert.equal(limits.code, 0, limits.stderr)
  assert.match(limits.stdout, /^requests_per_minute +minute/m)
  const auth = await ask('auth', 'test', '--key', key, '--route', 'old')
  assert.deepEqual([auth.code, auth.stdout], [0, '200: it may call (as expected)\n'])
  const upstream = await ask('upstream', 'test', '--name', 'local')
  assert.equal(upstream.code, 1)
  assert.match(upstream.stdout, /^local +vllm +failed .*ECONNREFUSED/m)
  const version = await ask('version', '-o', 'json')
  assert.equal(JSON.parse(version.stdout).gateways.length, 2)
  assert.ok(node.forwarded.length > 0)
})

test("limits test sends to a pod's client port, or to the given address", async () => {
  const args = ['--tenant', 'acme', '--rate', '600', '--duration', '1s', '--route', 'chat']
  const direct = await ask('limits', 'test', ...args, '--key', key, '-o', 'json')
  assert.equal(direct.code, 0, direct.stderr)
  const { sent, admitted, rate_limited, held } = JSON.parse(direct.stdout)
  assert.deepEqual([sent, admitted + rate_limited, held], [10, 10, true])
  const [{ url } = { url: '' }] = rig.kubelet.pods()
  const balanced = ['--via-load-balancer', '--url', url]
  const known = await ask('limits', 'test', ...args, ...balanced, '--key', key, '-o', 'json')
  assert.equal(known.code, 0, known.stderr)
  const unreachable = await ask('limits', 'test', ...args, '--via-load-balancer', '--key', key)
  assert.equal(unreachable.code, 2)
  assert.match(unreachable.stderr, /No server answers at .*Check --url/)
})

test('for a missing gateway the answer is no, without a failure', async () => {
  const { code, stderr } = await ask('status', '--gateway', 'ghost')
  assert.equal(code, 1)
  assert.match(
    stderr,
    /^error: There is no GatewayConfig "ghost" in namespace "ai"; there are: production\.$/m,
  )
})

test('without a permission the error names it', async () => {
  const read = ['get', 'list']
  const kubeconfig = await rig.cluster.serviceAccount({
    namespace: 'ai',
    name: 'reader',
    rules: [
      { apiGroups: ['inference.gw'], resources: ['gatewayconfigs'], verbs: read },
      { apiGroups: [''], resources: ['pods'], verbs: read },
    ],
  })
  const { code, stderr } = await gw('trace', 'list', '--kubeconfig', kubeconfig, '-n', 'ai')
  assert.equal(code, 2)
  assert.match(stderr, /permission to create pods\/portforward/)
})

test('a key from --apply works in every pod, and only the output contains it', async () => {
  const args = ['--tenant', 'acme', '--routes', 'chat', '--id', 'made', '-o', 'json']
  const { code, stdout, stderr } = await ask('keys', 'create', ...args, '--apply')
  assert.equal(code, 0, stderr)
  const made = JSON.parse(stdout)
  await until(
    'every pod takes it',
    async () => {
      const statuses = await rig.answersTo(made.key)
      return statuses.length === 2 && statuses.every((status) => status === 200)
    },
    120,
  )
  const stored = await rig.cluster.kubectl(['get', 'gwk', 'made', '-n', 'ai', '-o', 'json'])
  assert.ok(!stored.includes(made.key))
  assert.equal(JSON.parse(stored).spec.hash, made.record.hash)
  const again = await ask('keys', 'create', ...args, '--apply')
  assert.equal(again.code, 1)
  assert.match(again.stderr, /There is a GatewayKey "made" already/)
  assert.equal(again.stdout, '')
})

test('list and test include GatewayKeys and the keys of the GatewayConfig', async () => {
  const { stdout } = await ask('keys', 'list', '-o', 'json')
  const ids = JSON.parse(stdout).keys.map(({ id }: { id: string }) => id)
  assert.deepEqual(ids.sort(), ['first', 'made'])
  assert.equal((await ask('keys', 'test', '--id', 'made', '--route', 'old')).code, 0)
  assert.equal((await ask('keys', 'test', '--id', 'made', '--route', 'other')).code, 1)
})

test('rotate and revoke end keys in every pod, and a second apply does not restore one', async () => {
  const rotated = await ask('keys', 'rotate', '--id', 'made', '-o', 'json')
  assert.equal(rotated.code, 0, rotated.stderr)
  const { key: fresh, record: freshRecord } = JSON.parse(rotated.stdout)
  assert.equal(freshRecord.id, 'made-r2')
  await until(
    'every pod accepts the new key',
    async () => (await rig.answersTo(fresh)).every((status) => status === 200),
    120,
  )
  const stored = await rig.cluster.kubectl(['get', 'gwk', 'made-r2', '-n', 'ai', '-o', 'json'])
  const { apiVersion, kind, metadata, spec } = JSON.parse(stored)
  const revoked = await ask('keys', 'revoke', '--id', 'made-r2', '--reason', 'leaked', '-o', 'json')
  assert.equal(revoked.code, 0, revoked.stderr)
  const view = JSON.parse(revoked.stdout)
  assert.deepEqual([view.status, view.reason], ['REVOKED', 'leaked'])
  await until(
    'every pod refuses it',
    async () => (await rig.answersTo(fresh)).every((status) => status === 401),
    120,
  )
  const { name, namespace } = metadata
  await rig.apply({ apiVersion, kind, metadata: { name, namespace }, spec })
  const inspected = await ask('keys', 'inspect', '--prefix', 'gw_live_made-r2', '-o', 'json')
  assert.equal(JSON.parse(inspected.stdout).status, 'REVOKED')
})
