/** The body of GET /explain: what would happen now to a request on a route. Charges nothing. */

import { type KeyEntry, mayUse } from '../call/key-entry.ts'
import { explain } from '../config/shown/explain.ts'
import type { Route } from '../config/snapshot.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { quotasShown } from '../limits/shown/quotas.ts'
import { limitsOf, unknownTenant } from '../limits/shown/tenants.ts'
import { unusable } from '../request/stages/authenticate.ts'
import { laneOf } from '../upstream/named/lanes.ts'
import { type AskedOperation, OPERATIONS } from './asked-operations.ts'
import { kindOf } from './hypothesis.ts'
import { guardrailStatus, upstreamStatus } from './status.ts'
import { verdictOn } from './verdict.ts'

export interface Question {
  /** A route or an alias. */
  readonly model?: string
  readonly tenant?: string
  /** SHA-256 of the whole key in hex, so that the key itself need not be sent. */
  readonly key_hash?: string
  readonly prompt_tokens?: string
  readonly max_tokens?: string
  /** The API that is asked; absent: chat. */
  readonly operation?: string
}

/** More than any context window has. */
const TOKENS_MAX = 100_000_000

/** `missing`: an unknown name; `wrong`: an invalid number. */
export async function explanationOf(question: Question, gateway: Gateway) {
  const { model, tenant, key_hash } = question
  const { snapshot } = gateway.active
  const key = key_hash === undefined ? undefined : snapshot.keys.get(key_hash.toLowerCase())
  const route = model === undefined ? undefined : snapshot.models.get(model)
  const promptTokens = tokensOf(question.prompt_tokens)
  const maxTokens = tokensOf(question.max_tokens)
  if (promptTokens === null || maxTokens === null)
    return { wrong: `Give prompt_tokens and max_tokens as whole numbers from 1 to ${TOKENS_MAX}.` }
  const operation = OPERATIONS.find((name) => name === (question.operation ?? 'chat'))
  if (operation === undefined) return { wrong: `Give operation as ${OPERATIONS.join(', ')}.` }
  const isKeyGiven = key_hash !== undefined
  const asked = { key, isKeyGiven, tenant, promptTokens, maxTokens, operation }
  const verdict = model === undefined ? undefined : await verdictOn({ model, ...asked }, gateway)
  if (model !== undefined && route === undefined)
    return { missing: `There is no route or alias "${model.slice(0, 100)}".`, verdict }
  const whose = key?.record.tenant ?? tenant
  const unknown = whose === undefined ? undefined : unknownTenant(whose, gateway)
  if (unknown !== undefined) return { missing: unknown, verdict: undefined }
  return {
    ...(route && { model, route: route.name }),
    ...(verdict && { verdict }),
    text: textOf(route, operation, gateway),
    ...(isKeyGiven && { key: rightsOf(key, route, gateway) }),
    ...(route && { upstreams: await upstreamsOf(route, gateway) }),
    ...(route && newerOf(route, whose, gateway)),
    ...(route && { guardrails: guardrailsOf(route, gateway) }),
    ...(route && { estimates: laneOf(route, gateway.active.lanes).learnt?.ratios }),
    ...(whose !== undefined && { limits: await limitsOf(whose, gateway) }),
  }
}

/** Null if it is not a whole number in range. */
function tokensOf(text: string | undefined): number | undefined | null {
  if (text === undefined) return undefined
  const count = Number(text)
  return /^\d+$/.test(text) && count >= 1 && count <= TOKENS_MAX ? count : null
}

function textOf(route: Route | undefined, operation: AskedOperation, { active }: Gateway): string {
  const { configuration, keys } = active.snapshot
  // In a pod the keys are not part of the configuration.
  const api_keys = [...keys.values()].map(({ record }) => record)
  const section = { ...configuration.gw, api_keys }
  return explain({ ...configuration, gw: section }, kindOf(operation), route?.name)
}

/** The answer that the key alone determines. */
function rightsOf(key: KeyEntry | undefined, route: Route | undefined, { clock }: Gateway) {
  if (key === undefined) return { status: 401, why: 'unknown key' }
  const { id, tenant } = key.record
  const bad = unusable(key, clock.wall())
  if (bad !== undefined) return { id, tenant, status: 401, why: bad }
  if (!key.invokes) return { id, tenant, status: 403, why: 'it lacks the scope models:invoke' }
  if (route !== undefined && !mayUse(key, route))
    return { id, tenant, status: 403, why: `it may not use route "${route.name}"` }
  return { id, tenant, status: 200, why: 'it may call' }
}

/** The rollout with its present share, and the shadow; `first` is known if each tenant keeps its side. */
function newerOf(route: Route, tenant: string | undefined, { rollouts }: Gateway) {
  const { name, section } = route
  const shown = rollouts.list().find((one) => one.route === name)
  const { shadow } = section
  const side = shown && rollouts.sideOf(route, tenant)
  return {
    ...(shown && { rollout: { ...shown, ...(side !== undefined && { first: side }) } }),
    ...(shadow && {
      shadow: { upstream: shadow.upstream, percent: shadow.percent, tenant: shadow.tenant },
    }),
  }
}

/** In the order of the calls. */
function guardrailsOf({ section }: Route, { guards, clock }: Gateway) {
  return guards.of(section).map((guard) => guardrailStatus(guard, clock))
}

/** In the order of the file; the text has the strategy's order. */
async function upstreamsOf(route: Route, gateway: Gateway) {
  const { active, clock } = gateway
  const quotas = await quotasShown(gateway)
  return laneOf(route, active.lanes).targets.map((target) => upstreamStatus(target, clock, quotas))
}
