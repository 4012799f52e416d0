/**
 * Names of top-level members that decide about a request, and their faults if two readers could read them differently.
 */

/** Members that two readers of one body could read differently if they appeared twice. */
export const SINGLE: ReadonlySet<string> = new Set([
  'model',
  'messages',
  'input',
  'prompt',
  'best_of',
  'echo',
  'max_tokens',
  'max_completion_tokens',
  'n',
  'stream',
  'stream_options',
  'max_output_tokens',
  'store',
  'previous_response_id',
  'conversation',
  'background',
])
/** Further names of most requests. */
const USUAL = [
  ...['content', 'frequency_penalty', 'instructions', 'metadata', 'parallel_tool_calls', 'role'],
  ...['presence_penalty', 'reasoning_effort', 'response_format', 'seed', 'stop', 'system'],
  ...['temperature', 'text', 'tool_choice', 'tools', 'top_k', 'top_p', 'type', 'user'],
]
/** By length. */
const COMMON: string[][] = []
for (const name of [...SINGLE, ...USUAL])
  COMMON[name.length] = [...(COMMON[name.length] ?? []), name]
const SINGLE_LENGTH_MAX = Math.max(...[...SINGLE].map((name) => name.length))
const LOWER_CASE = /^[a-z_]*$/

/** The name that these bytes are, if most requests have it, without making a text of them; else undefined. */
export function commonName(bytes: Buffer, start: number, end: number): string | undefined {
  for (const name of COMMON[end - start] ?? NO_NAMES) if (isAt(bytes, start, name)) return name
  return undefined
}

const NO_NAMES: readonly string[] = []

function isAt(bytes: Buffer, start: number, name: string): boolean {
  for (let index = 0; index < name.length; index++)
    if (bytes[start + index] !== name.charCodeAt(index)) return false
  return true
}

/** The body is not a JSON object that this gateway forwards; the message says why. */
export class MembersError extends Error {
  readonly param: string | undefined
  constructor(message: string, param?: string) {
    super(message)
    this.param = param
  }
}

/**
 * The deciding name that `name` spells differently. Decoders that ignore case take "Model" for "model", and the last of
 * the two wins: the upstream would serve another model than the gateway checked.
 */
export function meantName(name: string): string | undefined {
  // A lower-case letter is never longer than its original, so a deciding name has no longer spelling.
  if (name.length > SINGLE_LENGTH_MAX || SINGLE.has(name) || LOWER_CASE.test(name)) return undefined
  const meant = folded(name)
  return SINGLE.has(meant) ? meant : undefined
}

/** A name as a decoder that ignores case reads it. */
export function folded(name: string): string {
  // Both directions: the long s has only an upper case in ASCII, the Kelvin sign only a lower case.
  return name.toLowerCase().toUpperCase().toLowerCase()
}
