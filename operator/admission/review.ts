/** AdmissionReview of Kubernetes, version 1: reads the request, and writes the answer. */

import { isDeepStrictEqual } from 'node:util'
import { countFindings, type Finding, showPath } from '../../dataplane/config/judgement/problems.ts'
import { isRecord, valueBelow } from '../../dataplane/json/values.ts'
import { showFinding } from '../compile/compile.ts'
import { isKubeObject, type KubeObject, RESOURCES } from '../kube/objects.ts'

export interface ReviewQuestion {
  readonly uid: string
  readonly kind: string
  readonly isDryRun: boolean
  readonly object: KubeObject
  /** The stored object; absent when it is being created. */
  readonly before: KubeObject | undefined
}

/** Errors refuse the object; the API server shows warnings to the author. */
export interface ReviewVerdict {
  readonly errors: readonly Finding[]
  readonly warnings: readonly string[]
}

/** `nothing`: the request is valid, and there is nothing to check in it. */
export type ReviewReading =
  | { readonly is: 'question'; readonly question: ReviewQuestion }
  | { readonly is: 'nothing'; readonly uid: string; readonly kind: string }
  | { readonly is: 'malformed'; readonly message: string }

const API_VERSION = 'admission.k8s.io/v1'
const { gatewayConfigs, gatewayKeys, tenantPolicies } = RESOURCES
const KINDS: readonly string[] = [gatewayConfigs, gatewayKeys, tenantPolicies].map(
  ({ kind }) => kind,
)
const CAUSES_MAX = 50
const TEXT_LENGTH_MAX = 1024
const WARNINGS_MAX = 20
/** The API server forwards this many characters of each and cuts the rest. */
const WARNING_LENGTH_MAX = 256

/** Deletions, statuses, terminating objects, and edits of only metadata are not checked. */
export function readReview(body: unknown): ReviewReading {
  const request = valueBelow(body, 'request')
  const uid = valueBelow(request, 'uid')
  const isReview = valueBelow(body, 'kind') === 'AdmissionReview' && isRecord(request)
  if (!isReview || valueBelow(body, 'apiVersion') !== API_VERSION || typeof uid !== 'string') {
    return malformed(
      `the body must be an AdmissionReview of ${API_VERSION} with a request and its uid`,
    )
  }
  const { object, oldObject: before, operation } = request
  const group = valueBelow(request, 'kind', 'group')
  const kind = String(valueBelow(request, 'kind', 'kind') ?? '')
  if (group !== RESOURCES.gatewayConfigs.group || !KINDS.includes(kind)) {
    return malformed(`only ${KINDS.join(', ')} of inference.gw are checked here`)
  }
  const isWritten = operation === 'CREATE' || operation === 'UPDATE'
  if (!isWritten || (request.subResource ?? '') !== '') return { is: 'nothing', uid, kind }
  if (!isKubeObject(object)) return malformed('request.object must be an object with a name')
  const isGoing = object.metadata.deletionTimestamp !== undefined
  if (isGoing || (isKubeObject(before) && isSameBody(before, object))) {
    return { is: 'nothing', uid, kind }
  }
  const isDryRun = request.dryRun === true
  const known = isKubeObject(before) ? before : undefined
  return { is: 'question', question: { uid, kind, isDryRun, object, before: known } }
}

function malformed(message: string): ReviewReading {
  return { is: 'malformed', message }
}

function isSameBody(before: KubeObject, after: KubeObject): boolean {
  return isDeepStrictEqual([before.spec, before.gw], [after.spec, after.gw])
}

export function allow(uid: string): object {
  return answer({ uid, allowed: true })
}

/** The API server writes `auditAnnotations` into its audit event, each after the name of the webhook. */
export function answerOf(
  question: ReviewQuestion,
  { errors, warnings }: ReviewVerdict,
  auditAnnotations: Readonly<Record<string, string>>,
): object {
  const { uid } = question
  if (errors.length > 0) {
    return answer({ uid, allowed: false, status: statusOf(question, errors), auditAnnotations })
  }
  const shown = warnings.slice(0, WARNINGS_MAX).map((warning) => cut(warning, WARNING_LENGTH_MAX))
  const said = shown.length === 0 ? {} : { warnings: shown }
  return answer({ uid, allowed: true, ...said, auditAnnotations })
}

function statusOf({ kind, object }: ReviewQuestion, errors: readonly Finding[]): object {
  const shown = errors.slice(0, CAUSES_MAX)
  const hidden = countFindings(errors) - countFindings(shown)
  const more = hidden > 0 ? [`and ${hidden} more`] : []
  const lines = shown.map((finding) => cut(showFinding(finding), TEXT_LENGTH_MAX))
  return {
    status: 'Failure',
    code: 422,
    reason: 'Invalid',
    message: [...lines, ...more].join('\n'),
    details: {
      group: RESOURCES.gatewayConfigs.group,
      kind,
      name: object.metadata.name,
      causes: shown.map((finding) => ({
        reason: 'FieldValueInvalid',
        field: cut(showPath(finding.path), TEXT_LENGTH_MAX),
        message: cut(showFinding({ ...finding, path: [] }), TEXT_LENGTH_MAX),
      })),
    },
  }
}

function answer(response: object): object {
  return { apiVersion: API_VERSION, kind: 'AdmissionReview', response }
}

export function cut(text: string, lengthMax: number): string {
  return text.length <= lengthMax ? text : `${text.slice(0, lengthMax - 1)}…`
}
