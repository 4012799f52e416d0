/** A file as it is judged for a cluster before anything is sent. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stringify } from 'yaml'
import { judge } from '../../cli/apply/document.ts'
import { aGateway } from '../helpers/kubernetes/a-gateway.ts'

const target = { name: undefined, namespace: 'ai', isNamespaceSaid: false }

function judged(document: object, aim: Partial<Parameters<typeof judge>[1]> = {}) {
  const { gateway, problems } = judge(
    { name: 'gw.yaml', text: stringify(document) },
    { ...target, ...aim },
  )
  const errors = problems.filter(({ severity }) => severity === 'error')
  return { gateway, errors: errors.map(({ path, message }) => `${path}: ${message}`) }
}

const { status: _, ...gateway } = aGateway()

test('what is sent has a name, a namespace and no status', () => {
  const { metadata, ...rest } = gateway
  const document = { ...rest, metadata: { name: 'production' }, status: { replicas: 1 } }
  const { gateway: sent } = judged(document)
  assert.deepEqual(sent?.metadata, { name: 'production', namespace: 'ai' })
  assert.equal(sent?.status, undefined)
  assert.deepEqual(sent?.gw, gateway.gw)
})

test('labels and annotations are sent, and what the API server gives is not', () => {
  const metadata = { ...gateway.metadata, resourceVersion: '7', labels: { team: 'a' } }
  const { gateway: sent } = judged({ ...gateway, metadata })
  assert.deepEqual(sent?.metadata, { name: 'production', namespace: 'ai', labels: { team: 'a' } })
})

test('a file without a name needs --gateway', () => {
  const { metadata: __, ...nameless } = gateway
  assert.deepEqual(judged(nameless).errors, ['metadata.name: the gateway has no name'])
  assert.equal(judged(nameless, { name: 'other' }).gateway?.metadata.name, 'other')
})

test('a file for another namespace than --namespace is refused', () => {
  const { errors } = judged(gateway, { namespace: 'team', isNamespaceSaid: true })
  assert.match(errors.join(), /for namespace "ai", and --namespace says "team"/)
  assert.equal(judged(gateway, { namespace: 'team' }).gateway?.metadata.namespace, 'ai')
})

test('a text that is not a document, or that a cluster cannot use, is refused', () => {
  assert.equal(judged([1, 2]).gateway, undefined)
  const filed = { ...gateway, gw: { ...Object(gateway.gw), state_dir: '/tmp/x' } }
  assert.match(judged(filed).errors.join(), /gw\.state_dir/)
  const literal = { ...gateway, gw: { ...Object(gateway.gw) } }
  literal.gw.upstreams = [{ ...literal.gw.upstreams[0], api_key: 'sk-hidden-literal' }]
  const { errors } = judged(literal)
  assert.match(errors.join(), /api_key/)
  assert.doesNotMatch(errors.join(), /hidden-literal/)
})

test('a file without keys gets no remark: its keys may be separate resources', () => {
  const document = { ...gateway, gw: { ...Object(gateway.gw), api_keys: [] } }
  const { problems } = judge({ name: 'gw.yaml', text: stringify(document) }, target)
  assert.deepEqual(
    problems.filter(({ path }) => path === 'gw.api_keys'),
    [],
  )
})
