/** The answers of the admin API to documents, as far as the tool reads them. */
import { z } from 'zod'
import type { Difference } from '../../dataplane/config/shown/differences.ts'

const DifferenceShape = z.object({
  path: z.string(),
  old: z.unknown().optional(),
  new: z.unknown().optional(),
  hidden: z.literal(true).optional(),
  reloadable: z.boolean(),
})

const Verdict = z.looseObject({
  /** The gateway's start file. */
  file: z.string().optional(),
  differences: z.array(DifferenceShape).default([]),
  problems: z.array(z.string()).default([]),
})

const Refused = z.object({ error: z.looseObject({ message: z.string() }).and(Verdict) })

export interface Taken {
  readonly file: string | undefined
  readonly differences: readonly Difference[]
  readonly problems: readonly string[]
  /** Why the gateway refused it. */
  readonly refusal?: string
}

/** `name` replaces the gateway's own name for the document, which the user does not know. */
export function readVerdict(status: number, body: unknown, name: string): Taken {
  const verdict = status === 200 ? Verdict.parse(body) : Refused.parse(body).error
  return {
    file: verdict.file,
    // Absent members stay absent: zod adds none.
    differences: verdict.differences as readonly Difference[],
    problems: verdict.problems.map((text) => text.replace(/^.*?PUT config:/, `${name}:`)),
    ...('message' in verdict && status !== 200 ? { refusal: String(verdict.message) } : {}),
  }
}
