/** The admission webhook: answers the API server in every replica, with its own or mounted certificates. */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { KeyedCertificate } from '../../dataplane/base/certificates/certificate.ts'
import { countFindings, showPath } from '../../dataplane/config/judgement/problems.ts'
import type { ApiClient } from '../kube/api.ts'
import { keyOf } from '../kube/objects.ts'
import { type Log, messageOf } from '../log.ts'
import { WEBHOOK_SECRET_NAME } from '../rbac.ts'
import type { Telemetry } from '../telemetry.ts'
import type { World } from '../world.ts'
import { auditOf } from './audit.ts'
import {
  CertificateKeeper,
  type CertificateSource,
  KEEPER_TIMINGS,
  type KeeperTimings,
} from './certificate-keeper.ts'
import { endOf } from './certificates.ts'
import { judgeQuestion } from './judge.ts'
import { MountedCertificate } from './mounted-certificate.ts'
import { allow, answerOf, type ReviewQuestion, type ReviewVerdict, readReview } from './review.ts'
import { createReviewServer, REVIEW_PATH, type ReviewReply } from './server.ts'

/** Made here, and published; or made elsewhere, in a mounted folder. */
export type CertificateOrigin =
  | {
      /** Names and addresses that the API server uses. */
      readonly hosts: readonly string[]
      /** The ValidatingWebhookConfiguration that receives the authority. */
      readonly configuration: string
      /** The namespace of the Secret with the certificates. */
      readonly namespace: string
    }
  | { readonly folder: string }

export interface AdmissionOptions {
  readonly listen: { readonly port: number; readonly host: string }
  readonly certificates: CertificateOrigin
  /** Time for further answers after a stop, because clients notice the stop later. */
  readonly drainMs: number
  readonly log: Log
  readonly telemetry: Telemetry
  readonly wallClock: () => number
  readonly timings?: KeeperTimings
}

export interface WebhookParts {
  /** Writes only while this process leads. */
  readonly api: ApiClient
  readonly isLeading: () => boolean
  readonly world: World
}

export interface Webhook {
  /** Rejects if the port is not available. */
  readonly listening: Promise<AddressInfo>
  /** Whether it has its certificates, or none exist yet. */
  readonly isReady: boolean
  stop(): Promise<void>
}

const NAMED_MAX = 10

export function startWebhook(options: AdmissionOptions, parts: WebhookParts): Webhook {
  const { telemetry, listen, drainMs } = options
  const reviews = createReviewServer({
    async answer(body) {
      try {
        return await reply(body, options, parts.world)
      } catch (error) {
        options.log.event('error', 'admission', messageOf(error))
        return {
          status: 500,
          body: 'the object could not be checked; the log of the operator has the reason',
        }
      }
    },
    onAnswer(status, seconds) {
      telemetry.webhookRequests.inc({ webhook: REVIEW_PATH, code: String(status) })
      telemetry.webhookSeconds.observe({ webhook: REVIEW_PATH }, seconds)
    },
  })
  const keeper = keep(options, parts, (certificate) => {
    reviews.show(certificate)
    telemetry.webhookCertificateEnds.set(endOf(certificate) / 1000)
    const until = new Date(endOf(certificate)).toISOString()
    options.log.event('info', 'webhook_certificate', 'The webhook presents another certificate.', {
      until,
    })
  })
  const { server } = reviews
  const listening = once(server.listen(listen.port, listen.host), 'listening').then(
    // It listens on an address and a port, so it has both.
    () => server.address() as AddressInfo,
  )
  keeper.start()
  return {
    listening,
    get isReady() {
      return keeper.hasLooked
    },
    async stop() {
      reviews.leave()
      await Promise.all([keeper.stop(), delay(drainMs)])
      server.closeAllConnections()
      server.close()
    },
  }
}

function keep(
  { certificates, wallClock, timings = KEEPER_TIMINGS, log }: AdmissionOptions,
  { api, isLeading }: WebhookParts,
  show: (certificate: KeyedCertificate) => void,
): CertificateSource {
  const onError = (error: unknown) => log.event('error', 'webhook_certificate', messageOf(error))
  if ('folder' in certificates)
    return new MountedCertificate({ ...certificates, onChange: show, onError, timings })
  const { namespace, ...own } = certificates
  return new CertificateKeeper({
    api,
    secret: { namespace, name: WEBHOOK_SECRET_NAME },
    ...own,
    isLeading,
    wallClock,
    onChange: ({ leaf }) => show(leaf),
    onError,
    timings,
  })
}

async function reply(
  body: unknown,
  { log, telemetry, wallClock }: AdmissionOptions,
  world: World,
): Promise<ReviewReply> {
  const read = readReview(body)
  if (read.is === 'malformed') return { status: 400, body: read.message }
  if (read.is === 'nothing') {
    telemetry.admissions.inc({ kind: read.kind, result: 'not_judged' })
    return { status: 200, body: allow(read.uid) }
  }
  const { question } = read
  const verdict = await judgeQuestion(question, {
    now: wallClock(),
    gateway: (key) => world.stores.gatewayConfigs.get(key),
    keysOf: (gateway) => world.keysOf.get(gateway),
    policiesOf: (gateway) => world.policiesOf.get(gateway),
  })
  const isRefused = verdict.errors.length > 0
  telemetry.admissions.inc({ kind: question.kind, result: isRefused ? 'refused' : 'allowed' })
  if (isRefused) logRefusal(log, question, verdict)
  return { status: 200, body: answerOf(question, verdict, auditOf(question, verdict)) }
}

/** The paths of the mistakes, without their values. */
function logRefusal(
  log: Log,
  { kind, object, isDryRun }: ReviewQuestion,
  { errors }: ReviewVerdict,
): void {
  const fields = errors.slice(0, NAMED_MAX).map(({ path }) => showPath(path).slice(0, 256))
  const message = `${kind} ${keyOf(object)} was refused for ${countFindings(errors)} mistakes.`
  log.event('info', 'admission', message, { fields, ...(isDryRun && { dry_run: true }) })
}
