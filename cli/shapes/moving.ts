/** The JSON of commands for those who come from another gateway. */
import { z } from 'zod'
import { Problem } from './documents.ts'

export const Imported = z.looseObject({
  from: z.string(),
  file: z.string(),
  kept: z.number().describe('fields that were taken as they are'),
  changed: z.number(),
  no_place: z.number(),
  fields: z
    .array(
      z.looseObject({
        line: z.number(),
        path: z.string(),
        outcome: z.enum(['kept', 'changed', 'no_place']),
        became: z.array(z.string()).describe('paths in the configuration'),
        note: z.string().optional(),
      }),
    )
    .describe('every scalar of the file'),
  configuration: z.string().describe('the text of the gw.yaml'),
  problems: z.array(Problem).describe('as `gw config validate` finds them'),
})

export const TakenKeys = z.looseObject({
  file: z.string().optional(),
  keys: z.array(
    z.looseObject({
      line: z.number(),
      id: z.string(),
      tenant: z.string(),
      routes: z.array(z.string()),
      result: z.enum(['added', 'same']),
    }),
  ),
  limits: z.array(z.looseObject({ name: z.string() })).describe('as in `gw.limits`'),
  left_out: z
    .array(
      z.looseObject({
        file: z.string(),
        column: z.string(),
        rows: z.number(),
        firstLine: z.number(),
        note: z.string(),
      }),
    )
    .describe('columns that say something which has no place'),
})

const AnsweredRequest = z.looseObject({
  status: z.number().describe('0: no answer'),
  model: z.string().optional(),
  input_tokens: z.number().optional(),
  output_tokens: z.number().optional(),
  cost_usd: z.number().optional(),
  ms: z.number(),
  error: z.string().optional(),
})

export const TrafficCompared = z.looseObject({
  from: z.string(),
  to: z.string(),
  requests: z.number(),
  differing: z.number(),
  compared: z.array(
    z.looseObject({
      line: z.number(),
      path: z.string(),
      from: AnsweredRequest,
      to: AnsweredRequest,
      differences: z.array(
        z.looseObject({
          field: z.string(),
          from: z.union([z.string(), z.number()]),
          to: z.union([z.string(), z.number()]),
        }),
      ),
    }),
  ),
})
