/** Incidents of gateways: configurations, Secrets, upstreams, the shared store, routes. */

import { Certificates } from '../../helpers/certificates.ts'
import { until } from '../../helpers/until.ts'
import { NAME, type Rig, replicas, routes, sharedLimits, upstreams } from '../incidents/rig.ts'
import { gateway } from '../objects.ts'
import { SPACE, SYSTEM } from '../spaces.ts'
import { gatewayReady } from '../world.ts'
import type { Planted } from './planted.ts'

/** A gateway of one pod with a certificate. */
export const SECURED = 'secured'
const CERTIFICATE = 'secured-tls'
const DAY_MS = 86_400_000

const [hosted] = upstreams
const [chat, spread] = routes

const chatFails = (alert: string, what: string, mode: string, rest: Rest): Planted => ({
  alert,
  what,
  plant: ({ fails }) => fails('faulty', mode),
  asks: () => ({ model: 'chat' }),
  lift: healed,
  ...rest,
})

type Rest = Pick<Planted, 'prints' | 'cause'> & Partial<Planted>

export const GATEWAY_INCIDENTS: readonly Planted[] = [
  {
    alert: 'GwGatewayNotReady',
    what: 'an edit that is refused',
    async plant({ configure }) {
      const wrong = [{ name: 'chat', strategy: 'single', primary: 'hosteed' }]
      await configure({ gw: { routes: wrong, aliases: { 'gpt-4o': 'chat' } } })
    },
    prints: [new RegExp(`${NAME} .*False`), /Reason: +Invalid/, /Accepted=False/],
    cause: /unknown upstream "hosteed"; did you mean "hosted"/,
    lift: ({ configure }) => configure(),
  },
  {
    alert: 'GwSecretUnusable',
    what: 'a certificate that does not fit its key',
    gateway: SECURED,
    async plant(rig) {
      await secured(rig, { days: 300 })
      await gatewayReady(rig.world, SECURED)
      await certificate(rig, { days: 300, hasOtherKey: true })
    },
    prints: [/Reason: +SecretUnusable/, /SecretUnusable/, /SecretUnusable/],
    cause: /gateway\.tls\.\w+: [^.]*/,
    lift: removed,
  },
  refusedByPods('GwConfigurationRefused', [
    /Reason: +Rejected/,
    /^(?![\s\S]*webhook_url)[\s\S]*upstreams:/,
    /Programmed=False/,
  ]),
  refusedByPods('GwConfigurationNotTaken', [
    /the newest configuration was refused/,
    /config_reload|was refused/,
    /Reason: +Rejected/,
  ]),
  chatFails('GwErrorRatio', 'a model server out of memory', 'broken', {
    prints: [/chat answers 50\d/, / 50\d chat/, /hosted/],
    cause: /upstream hosted answers with errors \(500 CUDA out of memory|CUDA out of memory/,
  }),
  chatFails('GwSloBurn', 'a model server out of memory', 'broken', {
    // A hundred requests at least.
    asks: () => ({ model: 'chat', count: 60 }),
    prints: [/chat answers 50\d/, / 50\d chat/, /hosted/],
    cause: /upstream hosted answers with errors \(500 CUDA out of memory|CUDA out of memory/,
  }),
  {
    alert: 'GwUpstreamUnhealthy',
    what: 'a model server that is gone',
    async plant({ configure, scale, enforced }) {
      const health_check = { path: '/health', interval_seconds: 2, timeout_seconds: 1 }
      await configure({ gw: { upstreams: [{ ...hosted, health_check }, replicas] } })
      await enforced()
      await scale('faulty', 0)
    },
    prints: [/upstream hosted is out/, /hosted/, /faulty-\S+ .*<unset>/],
    cause: /upstream hosted is out[^)]*\)|ECONNREFUSED[^)\n]*|faulty-\S+ .*<unset>/,
    async lift(rig) {
      await rig.scale('faulty', 1)
      await rig.configure()
      await healed(rig)
    },
  },
  chatFails('GwBreakerOpen', 'a model server out of memory', 'broken', {
    async plant({ fails, configure, enforced }) {
      const circuit_breaker = { failure_threshold: 3, open_duration_seconds: 300 }
      await configure({ gw: { upstreams: [{ ...hosted, circuit_breaker }, replicas] } })
      await enforced()
      await fails('faulty', 'broken')
    },
    prints: [/breaker is open/, /hosted/, / 50\d chat/],
    cause: /CUDA out of memory/,
    async lift(rig) {
      await rig.configure()
      await healed(rig)
    },
  }),
  {
    alert: 'GwSharedStoreDown',
    what: 'Redis that is away',
    plant: ({ scale }) => scale('gw-redis', 0, SYSTEM),
    asks: () => ({ model: 'chat' }),
    prints: [/Redis does not answer 2 of 2 pods/, /store: away from pod/, /is away/],
    cause:
      /Redis does not answer 2 of 2 pods \([^)]*\)|store: away from pod \S+|shared store at \S+ is away/,
    lift: ({ scale }) => scale('gw-redis', 1, SYSTEM),
  },
  {
    alert: 'GwSettlementsWaiting',
    what: 'Redis that is away, and requests that go on',
    async plant({ scale, configure, enforced }) {
      await configure({ gw: { rate_limits: sharedLimits({ fail_open: true }) } })
      await enforced()
      await scale('gw-redis', 0, SYSTEM)
    },
    asks: () => ({ model: 'chat', count: 700 }),
    prints: [/Redis does not answer 2 of 2 pods/, /\d{4} settlements of pod \S+ wait/, /is away/],
    cause:
      /Redis does not answer 2 of 2 pods \([^)]*\)|store: away from pod \S+|shared store at \S+ is away/,
    async lift({ scale, configure }) {
      await scale('gw-redis', 1, SYSTEM)
      await configure()
    },
  },
  {
    alert: 'GwListenerCertificateExpires',
    what: 'a certificate that ends in three days',
    gateway: SECURED,
    async plant(rig) {
      await secured(rig, { days: 3 })
      await gatewayReady(rig.world, SECURED)
      await rig.world.apply(failedRenewal())
    },
    prints: [/expires on/, /Reason: +ExpiresSoon/, /secured-tls/],
    cause: /The certificate for \S+ expires on \d{4}-\d\d-\d\d|Failed to renew/,
    lift: removed,
  },
  {
    alert: 'GwTimeToFirstTokenObjectiveMissed',
    what: 'streams that begin later than their objective',
    async plant({ configure, enforced }) {
      const fast = { name: 'fast', provider: 'vllm', endpoint: 'http://fast:9000', model: 'fast' }
      const slo = { ttft_p95_ms: 1, window_seconds: 300 }
      const quick = { name: 'quick', strategy: 'single', primary: 'fast', slo }
      const added = [...upstreams, { ...fast, context_window: 8192 }]
      await configure({ gw: { upstreams: added, routes: [...routes, quick] } })
      await enforced()
    },
    asks: () => ({ model: 'quick', count: 20, isStream: true }),
    prints: [/quick/, /^No request of quick failed .* misses its/, /TTFT MS[\s\S]*quick/],
    cause: /misses its objective of \d+ ms over \d+ s/,
    lift: ({ configure }) => configure(),
  },
  {
    alert: 'GwRouteNotVerified',
    what: 'a wrong key of a provider',
    async plant({ fails, configure }) {
      await fails('faulty', 'badkey')
      await configure({ gw: { routes: [{ ...chat, verify: true }, spread] } })
    },
    prints: [/Verified +False/, /refuse the credential/, /Reason: +\w*(?:Fail|Not|Refus|Rout)\w*/],
    cause: /Incorrect API key provided|refuses? the (?:gateway's )?credential/,
    async lift({ fails, configure }) {
      await fails('faulty', 'fine')
      await configure()
    },
  },
  {
    alert: 'GwRolloutBack',
    what: 'a new upstream that fails',
    async plant({ fails, configure, enforced }) {
      await fails('shared', 'broken')
      const circuit_breaker = { failure_threshold: 1000, open_duration_seconds: 1 }
      const next = { ...hosted, name: 'next', endpoint: 'http://shared:9000', circuit_breaker }
      const rollout = { to: 'next', steps: [50, 100], every: '1h', requests: 1000 }
      await configure({
        gw: { upstreams: [hosted, replicas, next], routes: [{ ...chat, rollout }, spread] },
      })
      await enforced()
    },
    asks: () => ({ model: 'chat', count: 40 }),
    prints: [/chat.*back/, /RolloutBack/, /Reason: +RolloutBack/],
    cause: /failed requests \d+ % instead of \d+ %[^)]*/,
    async lift({ fails, configure }) {
      await fails('shared', 'fine')
      await configure()
    },
  },
]

/** A request that succeeds closes a breaker, so it asks until both pods answer all. */
async function healed({ fails, ask }: Rig): Promise<void> {
  await fails('faulty', 'fine')
  const isServed = async () => /^200(?: 200)*$/.test(await ask({ model: 'chat', count: 20 }))
  await until('the upstream is used again', isServed)
}

/** The value of the Secret is no URL, which only the pods see. */
function refusedByPods(alert: string, prints: Planted['prints']): Planted {
  return {
    alert,
    what: 'a Secret with another value than its field needs',
    plant: ({ configure }) =>
      configure({ gw: { alerts: { webhook_url: '${secret:explained-hosted/key}' } } }),
    prints,
    cause: /alerts[./]webhook_url\W[^.)]*/,
    lift: ({ configure }) => configure(),
  }
}

interface Validity {
  readonly days: number
  readonly hasOtherKey?: boolean
}

async function secured(rig: Rig, validity: Validity): Promise<void> {
  await certificate(rig, validity)
  const tls = {
    cert: `\${secret:${CERTIFICATE}/tls.crt}`,
    key: `\${secret:${CERTIFICATE}/tls.key}`,
  }
  await rig.world.apply(gateway(SECURED, { gw: { gateway: { tls } }, spec: { replicas: 1 } }))
}

/** In a Secret; it began two months ago. */
async function certificate({ world }: Rig, { days, hasOtherKey }: Validity): Promise<void> {
  const certificates = new Certificates()
  const moment = (at: number) => `${new Date(at).toISOString().replaceAll(/\D/g, '').slice(2, 14)}Z`
  const now = Date.now()
  const validity = { from: moment(now - 60 * DAY_MS), until: moment(now + days * DAY_MS) }
  const made = certificates.make({ names: 'DNS:models.example', ...validity })
  const { key } = hasOtherKey === true ? certificates.make() : made
  certificates.remove()
  await world.apply({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: CERTIFICATE, namespace: SPACE },
    type: 'kubernetes.io/tls',
    stringData: { 'tls.crt': made.cert, 'tls.key': key },
  })
}

async function removed({ kubectl }: Rig): Promise<void> {
  await kubectl('delete', 'gatewayconfig', SECURED, '--ignore-not-found')
  await kubectl('delete', 'secret', CERTIFICATE, '--ignore-not-found')
}

/** As cert-manager reports it. */
function failedRenewal(): object {
  return {
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: { name: `${CERTIFICATE}.${Date.now().toString(16)}`, namespace: SPACE },
    eventTime: new Date().toISOString().replace('Z', '000Z'),
    ...{ reportingController: 'cert-manager', reportingInstance: 'cert-manager-0' },
    ...{ action: 'Issue', reason: 'Failed', type: 'Warning' },
    regarding: {
      apiVersion: 'cert-manager.io/v1',
      kind: 'Certificate',
      name: CERTIFICATE,
      namespace: SPACE,
    },
    note: 'Failed to renew the certificate: the issuer is not ready',
  }
}
