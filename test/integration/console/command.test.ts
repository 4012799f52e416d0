/** `gw console` prints a loopback address whose page shows the gateway until Ctrl-C. */
import assert from 'node:assert/strict'
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { after, before, test } from 'node:test'
import { type Front, startFront } from '../../helpers/fake-upstream.ts'
import { collectOutput } from '../../helpers/gateway-process.ts'
import { gw, TOOL } from '../../helpers/gw.ts'
import { until } from '../../helpers/until.ts'

const GRAFANA = 'https://grafana.test/d/gw?orgId=1'

let front: Front
let tool: ChildProcessWithoutNullStreams
let origin: string
let headers: Readonly<Record<string, string>>
let pods: string

before(async () => {
  front = await startFront({
    gateway: { admin_port: undefined },
    upstreams: [{ name: 'up', endpoint: 'http://127.0.0.1:1' }],
    routes: [{ name: 'chat', strategy: 'single', primary: 'up' }],
  })
  const options = ['--no-browser', '--admin', port(), '--grafana', GRAFANA]
  tool = spawn(process.execPath, [TOOL, 'console', ...options])
  const output = collectOutput(tool)
  await until('the address is printed', () => output().includes('#token='))
  const [, url = '', token = ''] = /^(http:\S+)\/console\/#token=(\S+)$/m.exec(output()) ?? []
  origin = url
  headers = { authorization: `Bearer ${token}` }
})

after(async () => {
  tool?.kill('SIGKILL')
  await front?.process.stop()
})

const port = () => new URL(front.process.url).port

async function get(path: string, more: Readonly<Record<string, string>> = headers) {
  const answer = await fetch(origin + path, { headers: more })
  return { status: answer.status, headers: answer.headers, text: await answer.text() }
}

test('it serves the page, and sends samples of the gateway to clients with its token', async () => {
  const page = await get('/console/', {})
  assert.deepEqual(
    [page.status, page.headers.get('content-type')],
    [200, 'text/html; charset=utf-8'],
  )
  assert.equal((await get('/console/events', {})).status, 401)
  const answer = await fetch(`${origin}/console/events`, { headers })
  let text = ''
  for await (const piece of answer.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += piece
    if (/data: .*\n\n/.test(text)) break
  }
  const sample = JSON.parse(/data: (.*)/.exec(text)?.[1] ?? '')
  const [pod] = sample.pods
  assert.equal(sample.grafana, GRAFANA)
  assert.equal(pod.status.state, 'serving')
  assert.deepEqual(Object.keys(pod.activity.routes[0]).slice(0, 2), ['name', 'requests'])
  pods = pod.path
})

test("it forwards the page's reads, and no request that changes anything", async () => {
  for (const path of [
    ...['/status', '/config', '/models', '/changes', '/limits', '/usage?by=tenant'],
    ...['/rollouts', '/shadows'],
  ]) {
    const { status, text } = await get(pods + path)
    assert.equal(status, 200, path)
    assert.doesNotMatch(text, /upstream-credential/)
  }
  assert.equal((await get(`${pods}/traces/none`)).status, 404)
  for (const path of ['/upstreams/test', '/metrics', '/console/', '', '/statusx']) {
    assert.equal((await get(pods + path)).status, 404, path)
  }
  assert.equal((await get('/status')).status, 404)
  // There is no cluster to read the resource from.
  assert.equal((await get('/cluster')).status, 404)
  assert.equal((await get(`${pods}/traces?running=true`)).text, '{"traces":[]}')
  for (const method of ['PUT', 'POST', 'DELETE']) {
    const answer = await fetch(`${origin + pods}/config`, { method, headers, body: 'gw: {}' })
    assert.equal(answer.status, 405, method)
  }
  for (const more of [{ 'sec-fetch-site': 'cross-site' }, { 'sec-fetch-site': 'same-site' }]) {
    assert.equal((await get(`${pods}/status`, { ...headers, ...more })).status, 403)
  }
  assert.equal((await get(`${pods}/status`, {})).status, 401)
})

test('a missing gateway is shown as missing, and Ctrl-C ends the command', async () => {
  await front.process.stop()
  const answer = await fetch(`${origin}/console/events`, { headers })
  let text = ''
  for await (const piece of answer.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += piece
    if (/data: .*\n\n/.test(text)) break
  }
  assert.match(text, /"error":"No gateway answers at http/)
  tool.kill('SIGINT')
  const [code] = await once(tool, 'exit')
  assert.equal(code, 130)
})

test('an address of Grafana that a browser cannot open, or that has a password, is a usage error', async () => {
  for (const address of ['grafana', 'javascript:alert(1)', 'https://me:secret@grafana.test/d/gw']) {
    const { code, stderr } = await gw('console', '--no-browser', '--grafana', address)
    assert.equal(code, 64, address)
    assert.match(stderr, /--grafana.*Give an address such as https:\/\/grafana.example/s)
  }
})

test('a gateway that never answers is an error at once', async () => {
  const { code, stdout, stderr } = await gw('console', '--no-browser', '--admin', '/nowhere.sock')
  assert.deepEqual([code, stdout], [2, ''])
  assert.match(stderr, /^error: No gateway answers at unix:\/nowhere\.sock/)
})
