/** Degraded: whether the pods serve less than, or other than, the configuration says. */
import type { RefusedCredential } from '../delivery/pod-reports.ts'
import { rolloutsOf } from '../delivery/reported-rollouts.ts'
import { distinct, enforces, listed, no, type StatusFacts, unknown, yes } from './facts.ts'
import { shownProblem, storeTrouble, unusableIn } from './pod-troubles.ts'
import { type Policy, worstOf } from './policies.ts'

const noReport: Policy = (facts) =>
  reportsOf(facts).length === 0
    ? unknown('No pod has reported yet which configuration it enforces.')
    : undefined

const storeRefuses: Policy = ({ pods }) => {
  const store = storeTrouble(pods)
  return store?.refuses ? yes('StoreAway', store.message) : undefined
}

const noConfiguration: Policy = ({ pods }) =>
  pods.every(({ report }) => report?.configuration.hash === undefined)
    ? unknown('No pod has accepted a configuration yet.')
    : undefined

const usingLastKnownGood: Policy = ({ documents, pods, compiled }) => {
  const isRefused = compiled !== undefined && compiled.configuration === undefined
  const behind = pods.filter(
    (pod) =>
      pod.report?.configuration.hash !== undefined &&
      pod.configuration.state === 'rejected' &&
      !enforces(pod, documents.configuration?.hash),
  )
  if (!isRefused && behind.length === 0) return undefined
  const names = isRefused ? 'the pods' : listed(behind.map(({ target }) => target.name))
  const message =
    `The newest generation is not enforced; ${names} continue with the last good configuration. ` +
    `See Accepted and Programmed for the cause.`
  return yes('UsingLastKnownGood', message)
}

const secretUnusable: Policy = ({ pods, documents }) => {
  const struck = pods.flatMap((pod) => {
    const problems = unusableIn(pod, documents)
    return problems.length === 0 ? [] : [{ pod: pod.target.name, problems }]
  })
  if (struck.length === 0) return undefined
  const problems = struck.flatMap((one) => one.problems)
  const what = listed(distinct(problems.map(shownProblem)))
  const fixes = distinct(problems.map(({ fix }) => fix).filter((fix) => fix !== ''))
  const message =
    `${what.replace(/\.$/, '')}. Pods that cannot use the content of the Secret: ` +
    `${listed(struck.map(({ pod }) => pod))}. They serve with the earlier values; ` +
    `do not restart them before you correct the Secret. ${fixes.slice(0, 3).join(' ')}`
  return yes('SecretUnusable', message.trimEnd())
}

const upstreamsDisabled: Policy = (facts) => {
  const unresolved = reportsOf(facts).flatMap((report) => report.unresolved)
  const upstreams = distinct(unresolved.map(({ upstream }) => upstream))
  if (upstreams.length === 0) return undefined
  const why = 'because their credentials are missing'
  const message = `These upstreams get no requests, ${why}: ${listed(upstreams)}. See ResolvedRefs.`
  return yes('UpstreamsDisabled', message)
}

const noEndpoints: Policy = ({ endpointsTrouble: { empty } }) => {
  if (empty.length === 0) return undefined
  const names = listed(empty.map(({ upstream, source }) => `${upstream} (${source})`))
  const message =
    `No pod takes requests for upstreams: ${names}. Requests that no other upstream can serve get 503. ` +
    'Start their pods, or check why they are not ready.'
  return yes('NoEndpoints', message)
}

const credentialRejected: Policy = ({ pods }) => {
  const refused = pods.flatMap(({ report, target }) =>
    (report?.refusedCredentials ?? []).map((one) => ({ ...one, pod: target.name })),
  )
  if (refused.length === 0) return undefined
  const byUpstream = [...Map.groupBy(refused, credentialOf)].map(([name, all]) => {
    const statuses = distinct(all.map(({ status }) => String(status))).join(', ')
    const where = all.length === pods.length ? 'every pod' : listed(all.map(({ pod }) => pod))
    return `${name} (${statuses} to ${where})`
  })
  const message =
    `Upstreams refuse the credential of the gateway: ${listed(byUpstream)}. ` +
    'Renew the Secrets that their api_key or headers refer to; the pods read them without an edit.'
  return yes('CredentialRejected', message)
}

/** The upstream, and which of its keys if it has several. */
function credentialOf({ upstream, key }: RefusedCredential): string {
  return key === undefined ? upstream : `${upstream}, key ${key}`
}

const storeAway: Policy = ({ pods }) => {
  const store = storeTrouble(pods)
  return store && yes('StoreAway', store.message)
}

const endpointsRefused: Policy = ({ endpointsTrouble: { refused } }) => {
  if (refused === undefined) return undefined
  const fix = 'The pods continue with their last endpoints. Select fewer, or split the upstream.'
  return yes('EndpointsRefused', `${refused} ${fix}`)
}

const rolloutBack: Policy = (facts) => {
  const back = rolloutsOf(reportsOf(facts)).filter(({ phase }) => phase === 'back')
  if (back.length === 0) return undefined
  const what = listed(back.map(({ route, to, reason }) => `${to} on ${route} (${reason})`))
  const message =
    `New upstreams were worse and get no more requests: ${what}. ` +
    'Correct the upstream and run gw rollout resume, or remove rollout from the route.'
  return yes('RolloutBack', message)
}

const fieldsIgnored: Policy = (facts) => {
  const ignored = distinct(reportsOf(facts).flatMap((report) => report.ignored))
  if (ignored.length === 0) return undefined
  const message = `The pods do not know ${listed(ignored)}. Update their image, or remove the fields.`
  return yes('FieldsIgnored', message)
}

const waitsForNewPods: Policy = (facts) => {
  const waiting = distinct(reportsOf(facts).flatMap((report) => report.waitsForStart))
  if (waiting.length === 0) return undefined
  const message = `A change of ${listed(waiting)} takes effect in new pods, which are replacing the old ones.`
  return yes('WaitsForNewPods', message)
}

/** Policies in order of severity, the worst first. */
const FAULTS: readonly Policy[] = [
  usingLastKnownGood,
  secretUnusable,
  upstreamsDisabled,
  noEndpoints,
  credentialRejected,
  storeAway,
  endpointsRefused,
  rolloutBack,
  fieldsIgnored,
  waitsForNewPods,
]

const asConfigured: Policy = () => no('AsConfigured', 'The pods serve as configured.')

export const DEGRADED = [noReport, storeRefuses, noConfiguration, worstOf(FAULTS), asConfigured]

function reportsOf({ pods }: StatusFacts) {
  return pods.flatMap(({ report }) => report ?? [])
}
