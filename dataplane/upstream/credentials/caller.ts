/** The facts about a caller that the settings of an upstream use: headers, and a salt for the prompt cache. */

import { hash } from 'node:crypto'
import type { Caller } from '../../call/call.ts'
import type { UpstreamSettings } from '../../config/snapshot.ts'
import { editedBody, editMembers } from '../../json/edit.ts'
import { MembersScan, scanMembers } from '../../json/members.ts'
import { AT_ONCE_BYTES, Later, Unwritten } from '../../json/unwritten.ts'
import { rowOf, textOf } from '../../json/values.ts'
import type { Continued } from '../../telemetry/correlation.ts'
import type { ModelRequest } from '../../wire/inner-form.ts'
import type { UpstreamRequest } from '../../wire/provider.ts'

type CallerSettings = Pick<UpstreamSettings, 'section'>

/** Adds the headers of `caller_headers`. Such headers of a client never reach an upstream. */
export function namingCaller<C extends Pick<Continued, 'headers'>>(
  ids: C,
  { section: { caller_headers: wanted } }: CallerSettings,
  caller: Caller | undefined,
  route: string,
): C {
  if (wanted === undefined || caller === undefined) return ids
  const facts = { tenant: caller.tenant, key: caller.key.record.id, route }
  const named = Object.entries(wanted).flatMap(([name, fact]) => {
    const value = rowOf(facts, fact) ?? ''
    return [name.toLowerCase(), VISIBLE.test(value) ? value : encodeURIComponent(value)]
  })
  return { ...ids, headers: [...ids.headers, ...named] }
}

/** The subject of a token may contain any character. */
const VISIBLE = /^[\x21-\x7e]+$/

/**
 * Adds the salt of the tenant, so that tenants share no cached prefixes: otherwise the time to the first token would
 * reveal the prompts of others. A salt from the client divides the tenant's cache further.
 */
export function salted(
  upstream: UpstreamRequest,
  { operation, body }: Pick<ModelRequest, 'operation' | 'body'>,
  { section: { cache_salt: by } }: CallerSettings,
  caller: Caller | undefined,
): UpstreamRequest {
  if (by === undefined || caller === undefined) return upstream
  if (operation !== 'chat' && operation !== 'completions') return upstream
  const { cache_salt: own }: Readonly<Record<string, unknown>> = body
  const salt = hash('sha256', JSON.stringify([caller.tenant, textOf(own) ?? null]), 'base64url')
  const edits = new Map([['cache_salt', JSON.stringify(salt)]])
  const { body: written } = upstream
  if (written instanceof Unwritten || written.length > AT_ONCE_BYTES)
    return { ...upstream, body: new Unwritten([new Later(() => salting(written, edits))]) }
  const bytes = Buffer.from(written)
  return { ...upstream, body: editMembers(bytes, scanMembers(bytes), edits) }
}

function* salting(
  body: UpstreamRequest['body'],
  edits: ReadonlyMap<string, string>,
): Generator<undefined, unknown> {
  const bytes = body instanceof Unwritten ? yield* body.whole() : Buffer.from(body)
  const scan = new MembersScan(bytes)
  for (let until = SCAN_BYTES; !scan.run(until); until += SCAN_BYTES) yield
  return editedBody(bytes, scan.spans, edits)
}

/** Bytes that are scanned between two steps. */
const SCAN_BYTES = 65_536
