/**
 * Renders the chart with every values file and both major versions of Helm, and checks the objects against the
 * reviewers' rules.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import { policyRules } from '../../operator/rbac.ts'
import manifest from '../../package.json' with { type: 'json' }
import {
  CHART,
  HELMS,
  objectsOf,
  podsOf,
  readChart,
  render,
  renderText,
  runHelm,
  VALUE_SETS,
  valuesFlags,
} from '../helpers/kubernetes/chart.ts'
import { ISOLATION, RULES } from '../helpers/kubernetes/manifest-rules.ts'

const TOOL = join(import.meta.dirname, '../../cli/main.ts')

/** Values files that disable objects which some rules require. */
const BARE = ['bare']

for (const helm of HELMS) {
  test(`${helm} lint reports nothing for the chart, with any values`, async () => {
    test('every image of the chart comes from the registry in global.imageRegistry', async () => {
      const values = [
        '--set',
        'global.imageRegistry=mirror.example:5000/proxy,redis.embedded.enabled=true',
      ]
      for (const set of VALUE_SETS) {
        const text = await renderText(set, 'helm', values)
        const images = [...text.matchAll(/^\s*(?:- )?image: "?([^"\s]+)"?$/gm)].map(
          ([, image]) => image,
        )
        const [, dataPlane] = /GW_DATA_PLANE_IMAGE\s+value: "([^"]+)"/.exec(text) ?? []
        assert.ok(images.length > 0, set)
        for (const image of [...images, dataPlane])
          assert.match(
            image ?? '',
            /^mirror\.example:5000\/proxy\/(gw|gw-data|library\/redis)[:@]/,
            set,
          )
      }
    })

    for (const set of VALUE_SETS) {
      const { status, stdout } = await runHelm(helm, [
        'lint',
        '--strict',
        CHART,
        ...valuesFlags(set),
      ])
      assert.equal(status, 0, `${set}: ${stdout}`)
      assert.doesNotMatch(stdout, /\[(WARNING|ERROR)\]/, set)
    }
  })
}

test('both major versions of Helm render the same objects', async () => {
  for (const set of VALUE_SETS) {
    // Each rendering creates another test key.
    const [three, four] = await Promise.all(
      HELMS.map(async (helm) => {
        const text = await renderText(set, helm, ['--no-hooks'])
        return objectsOf(text)
          .map((object) => JSON.stringify(object))
          .sort()
      }),
    )
    assert.deepEqual(three, four, set)
  }
})

for (const set of VALUE_SETS) {
  test(`the objects of the values "${set}" follow the reviewers' rules`, async () => {
    const objects = await render(set)
    const rules = BARE.includes(set) ? RULES : { ...RULES, ...ISOLATION }
    for (const [name, rule] of Object.entries(rules)) {
      assert.deepEqual(rule(objects), [], `${set}: ${name}`)
    }
  })
}

test("the chart's version equals the release", () => {
  const chart = readChart('Chart.yaml')
  assert.match(chart, new RegExp(`^version: ${manifest.version}$`, 'm'))
  assert.match(chart, new RegExp(`^appVersion: ${manifest.version}$`, 'm'))
})

test('the operator gets the rights of its table, in the cluster or in the named namespaces', async () => {
  const wide = await render('defaults')
  const role = wide.find(
    ({ kind, metadata }) => kind === 'ClusterRole' && metadata.name === 'gw-system-gw',
  )
  assert.deepEqual(role?.rules, policyRules('watched'))
  const own = wide.find(({ kind, metadata }) => kind === 'Role' && metadata.name === 'gw-own')
  assert.deepEqual(own?.rules, policyRules('own'))
  const narrow = await render('namespaced')
  // The resource types belong to no namespace.
  const clusterWide = narrow.filter(({ kind }) => kind.startsWith('Cluster'))
  assert.deepEqual(
    clusterWide.map(({ metadata }) => metadata.name),
    ['gw-system-gw-types', 'gw-system-gw-types'],
  )
  const roles = narrow.filter(
    ({ kind, metadata }) => kind === 'Role' && metadata.name === 'gw-system-gw',
  )
  assert.deepEqual(
    roles.map(({ metadata }) => metadata.namespace),
    ['ai', 'team-a'],
  )
  for (const { rules } of roles) assert.deepEqual(rules, policyRules('watched'))
})

test('the operator gets its namespaces, the pod image, and the number of concurrent rollouts', async () => {
  const operatorOf = async (set: string) => {
    const found = podsOf(await render(set)).find(
      ({ spec }) => spec.containers[0]?.name === 'operator',
    )
    const { args, env, image } = found!.spec.containers[0]!
    const variables = Object.fromEntries(
      // Only variables with a value appear.
      (env as unknown as { name: string; value: string }[]).map(({ name, value }) => [name, value]),
    )
    return { args, variables, image }
  }
  const plain = await operatorOf('defaults')
  assert.deepEqual(plain.args, ['operator', '--max-concurrent-rollouts=1'])
  assert.equal(plain.image, `localhost/gw:${manifest.version}`)
  assert.equal(plain.variables.GW_DATA_PLANE_IMAGE, plain.image)
  assert.equal(plain.variables.WATCH_NAMESPACES, undefined)
  assert.equal((await operatorOf('namespaced')).variables.WATCH_NAMESPACES, 'ai,team-a')
  const full = await operatorOf('everything')
  assert.match(full.image, /^registry\.example\/gw@sha256:1{64}$/)
  assert.equal(full.variables.GW_DATA_PLANE_IMAGE, 'registry.example/gw-data:1')
  // Any further arguments belong to the webhook.
  const args = full.args as readonly string[]
  assert.deepEqual(args.slice(0, 2), ['operator', '--max-concurrent-rollouts=2'])
})

test('on OpenShift, which assigns users, no pod of the chart names a user', async () => {
  const named = /"(runAsUser|runAsGroup|fsGroup)":/
  const flags = ['--api-versions=security.openshift.io/v1']
  const plain = podsOf(await render('defaults')).map(({ spec }) => spec)
  assert.match(JSON.stringify(plain), named)
  for (const set of VALUE_SETS) {
    const objects = objectsOf(await renderText(set, 'helm', flags))
    const pods = podsOf(objects).map(({ spec }) => spec)
    assert.doesNotMatch(JSON.stringify(pods), named, set)
    assert.match(JSON.stringify(pods), /"runAsNonRoot":true/, set)
  }
})

test('a value decides whether Helm keeps the resource types, and another whether it installs them', async () => {
  const policyOf = async (set: string) =>
    (await render(set))
      .filter(({ kind }) => kind === 'CustomResourceDefinition')
      .map(({ metadata }) => metadata.annotations?.['helm.sh/resource-policy'])
  assert.deepEqual(await policyOf('defaults'), ['keep', 'keep', 'keep'])
  assert.deepEqual(await policyOf('bare'), [undefined, undefined, undefined])
  assert.deepEqual(await policyOf('namespaced'), [])
})

test("the operator may reach only DNS, the API server, the gateways' push port and the named collector", async () => {
  const policy = (await render('everything')).find(
    ({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name === 'gw',
  )
  const { egress, policyTypes } = policy!.spec as {
    egress: { ports: { port: number }[]; to?: object[] }[]
    policyTypes: string[]
  }
  assert.deepEqual(policyTypes, ['Ingress', 'Egress'])
  assert.deepEqual(
    egress.map(({ ports }) => [...new Set(ports.map(({ port }) => port))]),
    [[53], [443, 6443], [4318], [9092]],
  )
  assert.deepEqual(egress[1]?.to, [{ ipBlock: { cidr: '10.0.0.1/32' } }])
  assert.equal(egress[2]?.to?.length, 1)
  const plain = (await render('defaults')).find(
    ({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name === 'gw',
  )
  const { egress: fewer } = plain!.spec as { egress: { ports: { port: number }[] }[] }
  assert.equal(fewer.length, 3)
})

for (const helm of HELMS) {
  test(`${helm} refuses a value that the schema does not contain, and a value of the wrong type`, async () => {
    for (const wrong of [
      'replica=2',
      'replicas=two',
      'image.digest=sha256:1',
      'watchNamespaces={A_B}',
      'webhook.failurePolicy=Maybe',
      'webhook.port=8081',
      'telemetry.otlpEndpoint=collector:4318',
      'nameOverride=Bad_Name',
      'fullnameOverride=1-gateway',
      'image.repository=two words',
      'image.repository=https://registry.example/gw',
      'image.tag=a b',
      'dataPlane.image=two words',
      'global.imageRegistry=https://mirror.example',
    ]) {
      const { status, stderr } = await runHelm(helm, [
        'template',
        CHART,
        '--kube-version=1.34.4',
        '--set',
        wrong,
      ])
      assert.notEqual(status, 0, wrong)
      assert.match(stderr, /values don't meet the specifications|schema/, wrong)
    }
  })
}

for (const helm of HELMS) {
  test(`${helm} refuses a value that another value disables, and names the other value`, async () => {
    const cases: readonly (readonly [values: string, says: RegExp])[] = [
      ['podLabels.app\\.kubernetes\\.io/name=mine', /podLabels: app\.kubernetes\.io\/name is/],
      ['test.namespace=other,watchNamespaces={ai}', /test\.namespace: no operator looks after it/],
      [
        'webhook.enabled=true,webhook.certificates.secretName=x',
        /no effect with from: operator; write from: secret/,
      ],
      [
        'webhook.enabled=true,webhook.certificates.issuerRef.name=x',
        /no effect with from: operator; write from: cert-manager/,
      ],
    ]
    for (const [values, says] of cases) {
      const args = ['template', CHART, '--kube-version=1.34.4', '--set', values]
      const { status, stderr } = await runHelm(helm, args)
      assert.notEqual(status, 0, values)
      assert.match(stderr, says)
    }
  })
}

test('the commands in the notes fit the release', async () => {
  const args = ['install', 'gw', CHART, '--dry-run=client', '--namespace=gw-system']
  const { status, stdout, stderr } = await runHelm('helm4', [...args, ...valuesFlags('everything')])
  assert.equal(status, 0, stderr)
  const notes = stdout.slice(stdout.indexOf('NOTES:'))
  assert.match(notes, /kubectl -n gw-system rollout status deployment\/gw$/m)
  assert.match(notes, /helm test gw -n gw-system$/m)
  assert.match(notes, /kubectl -n gw-system exec deployment\/gw -- gw keys create/)
  assert.match(notes, /WARNING: the embedded Redis is for trying out/)
})

test('the quick start uses the simulator of the chart', async () => {
  const services = (await render('everything')).filter(({ kind }) => kind === 'Service')
  const { endpoint } = parse(readChart('examples/quick-start.yaml')).gw.upstreams[0]
  const { hostname, port } = new URL(endpoint)
  const found = services.find(
    ({ metadata: { name, namespace } }) => `${name}.${namespace}.svc` === hostname,
  )
  assert.ok(found, `no Service ${hostname}`)
  const { ports } = found.spec as { ports: { port: number }[] }
  assert.equal(ports[0]?.port, Number(port))
})

test('the PrometheusRule and the dashboard contain the files unchanged', async () => {
  const objects = await render('everything')
  const rule = objects.find(({ kind }) => kind === 'PrometheusRule')
  assert.deepEqual(rule?.spec, parse(readChart('files/alerts.yaml')))
  const dashboard = objects.find(({ metadata }) => metadata.name === 'gw-dashboard')
  const { 'gw.json': text = '' } = (dashboard?.data ?? {}) as Record<string, string>
  assert.deepEqual(JSON.parse(text), JSON.parse(readChart('files/dashboard.generated.json')))
})

test("the gateway of helm test is valid, and accepts its client's key", async () => {
  for (const set of VALUE_SETS) {
    const objects = await render(set)
    const gateway = objects.find(({ kind }) => kind === 'GatewayConfig')
    const secret = objects.find(({ kind, metadata }) => {
      return kind === 'Secret' && metadata.name === gateway?.metadata.name
    })
    const ran = spawnSync(process.execPath, [TOOL, 'config', 'validate', '--file', '-'], {
      input: JSON.stringify(gateway),
      encoding: 'utf8',
    })
    assert.equal(ran.status, 0, `${set}: ${ran.stderr}`)
    const { key = '' } = (secret?.stringData ?? {}) as Record<string, string>
    // As the resource contains it.
    const { api_keys: keys } = (gateway?.gw ?? { api_keys: [] }) as { api_keys: { hash: string }[] }
    assert.equal(keys[0]?.hash, `sha256:${createHash('sha256').update(key).digest('hex')}`)
  }
})

test('the plain manifests are the chart in two files: the resource types, and all other objects', () => {
  const program = join(import.meta.dirname, '../charts/manifests.ts')
  const ran = spawnSync(process.execPath, [program], { encoding: 'utf8' })
  assert.equal(ran.status, 0, ran.stderr)
  const files = [...ran.stdout.matchAll(/^kubectl apply --server-side -f (.+)$/gm)]
  const kinds = files.map(([, file = '']) => objectsOf(readFileSync(file, 'utf8')))
  assert.deepEqual(
    kinds[0]?.map(({ metadata }) => metadata.name),
    ['gatewayconfigs.inference.gw', 'gatewaykeys.inference.gw', 'tenantpolicies.inference.gw'],
  )
  const rest = kinds[1]?.map(({ kind }) => kind) ?? []
  assert.ok(rest.includes('Deployment'))
  assert.ok(!rest.includes('CustomResourceDefinition') && !rest.includes('Pod'), rest.join())
})

test('no other pod has the labels that select the operator', async () => {
  const pods = podsOf(await render('everything'))
  const nameOf = (container: string) => {
    const found = pods.find(({ spec }) => spec.containers[0]?.name === container)
    return found?.labels['app.kubernetes.io/name']
  }
  assert.equal(nameOf('operator'), 'gw')
  assert.equal(nameOf('simulator'), 'gw-simulator')
})
