/** Tests the chart's kustomize files with the kustomize of kubectl. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { CHART, objectsOf } from '../helpers/kubernetes/chart.ts'
import { providePrograms } from '../helpers/kubernetes/programs.ts'

const KUSTOMIZATION = `
resources: [gateway.yaml]
openapi: { path: openapi.generated.json }
configurations: [kustomizeconfig.yaml]
secretGenerator: [{ name: model, literals: [key=1] }]
images: [{ name: localhost/gw, newName: registry.example/gw, newTag: "2" }]
patches:
  - patch: |
      apiVersion: inference.gw/v1
      kind: GatewayConfig
      metadata: { name: production }
      gw: { upstreams: [{ name: b, model: other }] }
`

const GATEWAY = `
apiVersion: inference.gw/v1
kind: GatewayConfig
metadata: { name: production }
spec: { image: "localhost/gw:1", envFrom: [{ secretRef: { name: model } }] }
gw:
  upstreams:
    - { name: a, provider: vllm, endpoint: "http://a:1", model: m }
    - { name: b, provider: vllm, endpoint: "http://b:1", model: m, api_key: "\${secret:model/key}" }
`

test('kustomize merges upstreams by name, and sets the image and the names of generated Secrets', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gw-kustomize-'))
  cpSync(join(CHART, 'gitops/kustomize'), folder, { recursive: true })
  writeFileSync(join(folder, 'kustomization.yaml'), KUSTOMIZATION)
  writeFileSync(join(folder, 'gateway.yaml'), GATEWAY)
  const { kubectl = 'kubectl' } = await providePrograms(['kubectl'])
  const { status, stdout, stderr } = spawnSync(kubectl, ['kustomize', folder], { encoding: 'utf8' })
  assert.equal(status, 0, stderr)
  const objects = objectsOf(stdout)
  const gateway = objects.find(({ kind }) => kind === 'GatewayConfig')
  const secret = objects.find(({ kind }) => kind === 'Secret')?.metadata.name
  const { image, envFrom } = Object(gateway?.spec)
  assert.equal(image, 'registry.example/gw:2')
  assert.deepEqual(envFrom, [{ secretRef: { name: secret } }])
  const upstreams: readonly { name: string; model: string; api_key?: string }[] = Object(
    gateway?.gw,
  ).upstreams
  assert.deepEqual(upstreams.map(({ name, model }) => `${name} ${model}`).sort(), [
    'a m',
    'b other',
  ])
  // References name these Secrets, so their name suffix must be off.
  assert.equal(upstreams.find(({ name }) => name === 'b')?.api_key, '${secret:model/key}')
})
