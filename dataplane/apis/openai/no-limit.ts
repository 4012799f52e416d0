/**
 * Handles token limits of -1 or 0, with which some clients request an answer without a limit, as their runtime
 * allows.
 */
import type { ModelRequest } from '../../wire/inner-form.ts'

const MEMBERS = ['max_completion_tokens', 'max_tokens'] as const

type LimitMembers = { readonly [member in (typeof MEMBERS)[number]]?: unknown }

/** Legacy completions allow 0: it requests only the prompt's probabilities, without an answer. */
export function saysNoLimit(value: unknown, least: 0 | 1): value is number {
  return value === -1 || (value === 0 && least === 1)
}

/** The body without the members that mean no limit; the same object if it has none. */
export function limited<Body extends LimitMembers>(body: Body, least: 0 | 1): Body {
  const said = saying(body, least)
  if (said === undefined) return body
  const kept = Object.entries(body).filter(([name]) => !said.some((member) => member === name))
  return Object.fromEntries(kept) as Body
}

/** The members of the request besides its body; `body` is the result of `limited` for `asked`. */
export function unlimitedOf<Body extends LimitMembers>(
  asked: Body,
  body: Body,
  least: 0 | 1,
): Pick<ModelRequest, 'omitted' | 'unlimited'> | undefined {
  if (asked === body) return undefined
  const said = saying(asked, least) ?? []
  const [member] = said
  // The other member may contain a limit, which then applies.
  const isBounded = (body.max_completion_tokens ?? body.max_tokens ?? null) !== null
  const unlimited = member && !isBounded && { member, value: Number(asked[member]) }
  return { omitted: new Set(said), ...(unlimited && { unlimited }) }
}

function saying(body: LimitMembers, least: 0 | 1): (typeof MEMBERS)[number][] | undefined {
  if (!saysNoLimit(body.max_tokens, least) && !saysNoLimit(body.max_completion_tokens, least))
    return undefined
  return MEMBERS.filter((name) => saysNoLimit(body[name], least))
}
