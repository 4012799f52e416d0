/** `capabilities` and `parameters` of an upstream: facts about its model, and what its requests carry. */
import { z } from 'zod'
import {
  CHAT_TEMPLATES,
  EFFORTS,
  THINKING_FORMS,
  THINKING_MEMBERS,
  WIRES,
} from '../wire/models/capabilities.ts'
import { count } from './fields.ts'

/** Made ids of calls have this many letters, and shortened names of tools keep a part of the name. */
const ID_LENGTH_MIN = 29
const NAME_LENGTH_MIN = 24
const LENGTH_MAX = 1024

export const Capabilities = z.strictObject({
  reasoning: z
    .boolean()
    .optional()
    .describe('Whether the model reasons. If not, an effort of a client is left out.'),
  efforts: z
    .array(z.enum(EFFORTS))
    .min(1)
    .max(EFFORTS.length)
    .optional()
    .describe('The efforts that the model takes. Another one becomes the next higher of these.'),
  thinking: z
    .enum(THINKING_FORMS)
    .optional()
    .describe(
      'How the model is asked to think. budget: with tokens. adaptive: as long as it likes. effort: at a level.',
    ),
  thinking_tokens: count().optional().describe('Most tokens of thinking in a budget.'),
  thinking_member: z
    .enum(THINKING_MEMBERS)
    .optional()
    .describe('Member of a message in which unsigned thinking goes back.'),
  output_tokens: count()
    .optional()
    .describe('Most tokens of an answer with its thinking. A larger limit of a client is lowered.'),
  tool_name_length: z
    .number()
    .int()
    .min(NAME_LENGTH_MIN)
    .max(LENGTH_MAX)
    .optional()
    .describe(
      'Most letters in the name of a tool. A longer one is shortened, and restored in answers.',
    ),
  call_id_length: z
    .number()
    .int()
    .min(ID_LENGTH_MIN)
    .max(LENGTH_MAX)
    .optional()
    .describe('Most letters in the id of a call. A longer one is replaced.'),
  chat_template: z
    .enum(CHAT_TEMPLATES)
    .optional()
    .describe(
      'How the gateway writes a conversation as one text, for an API that takes only texts.',
    ),
  wires: z
    .array(z.enum(WIRES))
    .min(1)
    .max(WIRES.length)
    .optional()
    .describe(
      'The APIs in which the model may be asked. Without chat, chats are asked as responses.',
    ),
})

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
