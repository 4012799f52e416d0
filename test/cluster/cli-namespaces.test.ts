/** The CLI lists, creates and revokes gateways and keys of several namespaces; this needs no operator. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { gw } from '../helpers/gw.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { aGateway } from './operator-rig.ts'

let control: ControlPlane
let cluster: readonly string[]

before(async () => {
  control = await startControlPlane()
  await control.installDefinitions()
  for (const name of ['ai', 'team']) await control.kubectl(['create', 'namespace', name])
  const keys = { from: [{ namespaces: ['team'], tenants: ['research'] }] }
  const first = aGateway({ spec: { keys }, gw: { usage: { tags: ['team'] } } })
  const second = { ...aGateway(), metadata: { name: 'staging', namespace: 'ai' } }
  const stdin = [first, second].map((one) => JSON.stringify(one)).join('\n---\n')
  await control.kubectl(['apply', '-f', '-'], { stdin })
  cluster = ['--kubeconfig', control.kubeconfig]
})

after(() => control?.stop())

const onGateway = () => [...cluster, '-n', 'ai', '--gateway', 'production']

test('a key in one namespace names a gateway in another', async () => {
  const made = await gw(
    ...['keys', 'create', '-n', 'team', '--gateway', 'ai/production', '--apply', '--id', 'robot'],
    ...['--tenant', 'research', '--routes', 'chat', '--tag', 'team=blue', ...cluster],
  )
  assert.equal(made.code, 0, made.stderr)
  assert.doesNotMatch(made.stderr, /warning/)
  const path = 'jsonpath={.spec.gateway} {.spec.tags.team}'
  const stored = await control.kubectl(['get', 'gwk', 'robot', '-n', 'team', '-o', path])
  assert.equal(stored, 'ai/production blue')
})

test('the tool warns about a key that the gateway does not admit, and about a tag that it does not declare', async () => {
  const made = await gw(
    ...['keys', 'create', '-n', 'team', '--gateway', 'ai/production', '--apply', '--id', 'stray'],
    ...['--tenant', 'other', '--routes', 'chat', '--tag', 'taem=blue', ...cluster],
  )
  assert.equal(made.code, 0, made.stderr)
  assert.match(made.stderr, /warning: usage\.tags of gateway "production" does not declare "taem"/)
  assert.match(made.stderr, /warning: gateway "ai\/production" does not accept this key yet/)
})

test("from the gateway's namespace the tool lists, tests and revokes the key", async () => {
  const listed = await gw('keys', 'list', ...onGateway(), '-o', 'json')
  const { keys } = JSON.parse(listed.stdout)
  assert.deepEqual(
    keys.map(({ id, tags }: { id: string; tags: object }) => [id, tags]),
    [['team/robot', { team: 'blue' }]],
  )
  const question = ['keys', 'test', '--id', 'team/robot', '--route', 'chat']
  assert.equal((await gw(...question, ...onGateway())).code, 0)
  const revoked = await gw('keys', 'revoke', '--id', 'team/robot', ...onGateway())
  assert.equal(revoked.code, 0, revoked.stderr)
  const after = await gw(...question, ...onGateway())
  assert.equal(after.code, 1)
  assert.match(after.stdout, /401.*REVOKED/)
})

test('the tool lists several gateways, of one namespace and of all', async () => {
  for (const where of [['-n', 'ai'], ['-A']]) {
    const { stdout, code } = await gw('status', ...where, ...cluster)
    assert.equal(code, 1)
    assert.match(stdout, /^NAMESPACE +NAME +READY +REASON/)
    assert.match(stdout, /^ai +production +no/m)
    assert.match(stdout, /^ai +staging +no/m)
    for (const line of stdout.split('\n')) assert.ok(line.length <= 80, line)
  }
})
