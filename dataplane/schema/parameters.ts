/** `parameters` of an upstream: what its requests carry if the client sets nothing, and in any case. */
import { z } from 'zod'

/** Most parameters in one map. */
export const PARAMETERS_MAX = 32

const values = () =>
  z
    .record(z.string().min(1).max(64), z.unknown())
    .refine((map) => Object.keys(map).length <= PARAMETERS_MAX, {
      error: `must have at most ${PARAMETERS_MAX} parameters`,
    })

export const Parameters = z.strictObject({
  default: values()
    .optional()
    .describe(
      'Parameters by name, such as {temperature: 0.2}, for requests whose client sets none. extra_body has members of ' +
        'the vendor.',
    ),
  force: values().optional().describe("The same for every request, in place of the client's."),
})
