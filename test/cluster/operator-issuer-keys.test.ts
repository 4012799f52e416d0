/** A real API server replaces the key that signs ServiceAccount tokens, and pods without access to it follow. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { makeTokenKeys } from '../helpers/kubernetes/authority.ts'
import { until } from '../helpers/until.ts'
import { aGateway, type OperatorRig, startOperatorRig } from './operator-rig.ts'

let rig: OperatorRig

before(async () => {
  rig = await startOperatorRig()
})

after(() => rig?.stop())

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
  return (await rig.cluster.kubectl(ask)).trim()
}

async function untilAnswered(token: string, status: number): Promise<void> {
  const areAnswered = async () => (await rig.answersTo(token)).every((one) => one === status)
  await until(`the pods answer ${status}`, areAnswered, 120)
}

/** An operator reads the keys at its start, and again within five minutes. */
async function restart(edit: (args: readonly string[]) => readonly string[]): Promise<void> {
  await rig.operator.stop('SIGKILL')
  await rig.cluster.restartApiServer(edit)
}

test('pods without a token accept tokens of an added key, and refuse those of a removed key', async () => {
  const { cluster } = rig
  await rig.apply(aGateway({ spec: { replicas: 1 }, gw: { auth: { jwt: [issuer] } } }))
  await until('the account is there', () => aTokenOfAi().then(Boolean, () => false))
  const old = await aTokenOfAi()
  await untilAnswered(old, 200)
  const deployment = await cluster.read('/apis/apps/v1/namespaces/ai/deployments/production')
  assert.match(JSON.stringify(deployment), /"automountServiceAccountToken":false/)
  const next = await makeTokenKeys(cluster.folder, 'next')
  const signing = `--service-account-signing-key-file=${next.key}`
  const added = `--service-account-key-file=${next.certificate}`
  const leaveOff = rig.keepOperatorRunning()
  await restart((args) => [...args, added, signing])
  const fresh = await aTokenOfAi()
  await untilAnswered(fresh, 200)
  await untilAnswered(old, 200)
  const isOfOld = (arg: string) => arg.startsWith('--service-account-key-file=')
  await restart((args) => [...args.filter((arg) => !isOfOld(arg)), added, signing])
  await untilAnswered(old, 401)
  await untilAnswered(fresh, 200)
  await leaveOff()
})
