/** A real API server exchanges the key with which it signs the tokens of ServiceAccounts: pods that cannot ask it follow. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { makeTokenKeys } from '../helpers/kubernetes/authority.ts'
import { until } from '../helpers/until.ts'
import { aGateway } from './operator-rig.ts'
import { type OperatorWithin, startOperatorWithin } from './operator-within.ts'
import { type ProcessKubelet, startProcessKubelet } from './process-kubelet.ts'

let within: OperatorWithin
let kubelet: ProcessKubelet | undefined

before(async () => {
  within = await startOperatorWithin({ timings: { issuerKeysMs: 500 } })
  kubelet = await startProcessKubelet({ kubeconfig: within.cluster.kubeconfig })
})

after(async () => {
  await kubelet?.stop()
  await within?.stop()
})

const claim = '/kubernetes.io/namespace'
const issuer = {
  name: 'cluster',
  issuer: 'https://kubernetes.default.svc.cluster.local',
  audiences: ['gw'],
  jwks: { kubernetes: true },
  tenant: { claim, map: { ai: 'acme' } },
}

async function aTokenOfAi(): Promise<string> {
  const ask = ['create', 'token', 'default', '--audience', 'gw', '-n', 'ai']
  return (await within.cluster.kubectl(ask)).trim()
}

async function untilAnswered(token: string, status: number): Promise<void> {
  const headers = { authorization: `Bearer ${token}`, connection: 'close' }
  await until(
    `the pod answers ${status}`,
    async () => {
      const [pod] = kubelet?.pods() ?? []
      if (pod === undefined) return false
      const answer = await fetch(`${pod.url}/v1/models`, { headers }).catch(() => undefined)
      await answer?.body?.cancel()
      return answer?.status === status
    },
    120,
  )
}

test('pods without a token take tokens of a key that the API server adds, and refuse those of one that it removes', async () => {
  const { cluster } = within
  const gateway = aGateway({ spec: { replicas: 1 }, gw: { auth: { jwt: [issuer] } } })
  await cluster.kubectl(['apply', '--server-side', '-f', '-'], { stdin: JSON.stringify(gateway) })
  await until('the account is there', () => aTokenOfAi().then(Boolean, () => false))
  const old = await aTokenOfAi()
  await untilAnswered(old, 200)
  const deployment = await cluster.read('/apis/apps/v1/namespaces/ai/deployments/production')
  assert.match(JSON.stringify(deployment), /"automountServiceAccountToken":false/)
  const next = await makeTokenKeys(cluster.folder, 'next')
  const signing = `--service-account-signing-key-file=${next.key}`
  const added = `--service-account-key-file=${next.certificate}`
  await cluster.restartApiServer((args) => [...args, added, signing])
  const fresh = await aTokenOfAi()
  await untilAnswered(fresh, 200)
  await untilAnswered(old, 200)
  const isOfOld = (arg: string) => arg.startsWith('--service-account-key-file=')
  await cluster.restartApiServer((args) => [...args.filter((arg) => !isOfOld(arg)), added, signing])
  await untilAnswered(old, 401)
  await untilAnswered(fresh, 200)
})
