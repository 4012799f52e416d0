/**
 * Writes the requests of routes with input guardrails from the inner form, so that upstreams read only what guardrails judged.
 */

import { inSteps, inTurn } from '../base/steps.ts'
import { invalid, readObject, translated } from '../body/request.ts'
import { rewritten } from '../body/rewritten.ts'
import { requireDistinct } from '../json/distinct.ts'
import { rowOf } from '../json/values.ts'
import type { ModelRequest } from '../wire/inner-form.ts'
import { type Form, type Path, refused } from './forms/form.ts'
import { CLIENT_FORMS, INNER_FORMS } from './forms/index.ts'

/** Throws ERR_GW_INVALID_REQUEST with a member that two readers could read differently, or that has no counterpart. */
export async function writtenAnew<Request extends ModelRequest>(
  request: Request,
  route: string,
): Promise<Request> {
  const { bytes, found, wire, operation, body } = request
  if (found === undefined) return request
  const nameOf = wire === 'anthropic-messages' ? dotted : bracketed
  const distinct = requireDistinct(bytes, nameOf)
  if (bytes.length > SMALL_BYTES) await inSteps(translatedSteps(distinct))
  else translated(() => [...distinct])
  const client = rowOf(CLIENT_FORMS, wire)
  if (client !== undefined) {
    const tree = await readObject(bytes)
    await inTurn(bytes, () => check(client, tree, nameOf, route))
  }
  const names = client === undefined ? [...found.spans.keys()] : []
  const lost = names.find((name) => !isKept(name, request))
  if (lost !== undefined) check(refused, 0, () => lost, route)
  await inTurn(bytes, () => check(INNER_FORMS[operation], body, bracketed, route))
  return await inTurn(bytes, () => rewritten(request, body))
}

/** Long unknown members of a large body are not kept. */
function isKept(name: string, { body, omitted }: ModelRequest): boolean {
  return Object.hasOwn(body, name) || omitted?.has(name) === true
}

/** Largest body that is read in one step. */
const SMALL_BYTES = 65_536

function* translatedSteps(steps: Generator<undefined, void>): Generator<undefined, void> {
  while (translated(() => steps.next()).done !== true) yield
}

function check(form: Form, tree: unknown, nameOf: (path: Path) => string, route: string): void {
  form(tree, [], {
    role: 'user',
    text: () => undefined,
    refuse(path, why) {
      const param = nameOf(path)
      const judged = `the guardrails of route "${route}" judge all that a model reads`
      throw invalid(`"${param}" ${why}: ${judged}. Change it or leave it out.`, param)
    },
  })
}

function bracketed(path: Path): string {
  const parts = path.map((part, at) =>
    typeof part === 'number' ? `[${part}]` : at === 0 ? part : `.${part}`,
  )
  return shown(parts.join(''))
}

function dotted(path: Path): string {
  return shown(path.join('.'))
}

/** A client may nest long names. */
function shown(name: string): string {
  return name.length > NAME_MAX ? `${name.slice(0, NAME_MAX)}…` : name
}

const NAME_MAX = 200
