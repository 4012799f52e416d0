/** How the prompts of an upstream are counted, in words. */
import { z } from 'zod'

const Revision = z.object({
  state: z.string(),
  pinned: z.string().optional(),
  served: z.string().optional(),
})

/** As the admin API reports it; older gateways do not report it. */
export const TOKENS = {
  tokens: z
    .looseObject({
      counted: z.string(),
      by: z.string(),
      why: z.string().optional(),
      revision: Revision.optional(),
    })
    .optional(),
}

interface CountedText {
  readonly name: string
  readonly tokens?: z.output<typeof TOKENS.tokens>
}

export function countedText({ tokens }: CountedText): string {
  return tokens?.counted ?? '-'
}

/** A line for each upstream whose tokenizer differs from the configuration. */
export function tokensLines(upstreams: readonly CountedText[]): string[] {
  return upstreams.flatMap(({ name, tokens }) => [
    ...(tokens?.why === undefined ? [] : [`prompts for ${name} are estimated: ${tokens.why}`]),
    ...revisionLine(name, tokens?.revision),
  ])
}

function revisionLine(name: string, revision: z.output<typeof Revision> | undefined): string[] {
  const { state, pinned, served } = revision ?? {}
  if (state === 'mismatch')
    return [`tokenizer of ${name}: mismatch, it serves revision ${served}, pinned is ${pinned}`]
  if (state === 'detected') return [`tokenizer of ${name}: serves revision ${served}`]
  if (state === 'unknown' && pinned !== undefined)
    return [`tokenizer of ${name}: the upstream does not report its revision, pinned is ${pinned}`]
  return []
}
