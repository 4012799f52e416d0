/** How the prompts of an upstream are counted, in words. */
import { z } from 'zod'

/** As the admin API reports it; older gateways do not. */
export const TOKENS = {
  tokens: z
    .looseObject({ counted: z.string(), by: z.string(), why: z.string().optional() })
    .optional(),
}

interface Counted {
  readonly name: string
  readonly tokens?:
    | { readonly counted: string; readonly by: string; readonly why?: string | undefined }
    | undefined
}

export function countedText({ tokens }: Counted): string {
  return tokens?.counted ?? '-'
}

/** A line for each upstream whose prompts are estimated though a tokenizer is named. */
export function tokensLines(upstreams: readonly Counted[]): string[] {
  return upstreams.flatMap(({ name, tokens }) =>
    tokens?.why === undefined ? [] : [`prompts for ${name} are estimated: ${tokens.why}`],
  )
}
