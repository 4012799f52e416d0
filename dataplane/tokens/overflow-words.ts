/**
 * The phrases of vendors that tell clients that a prompt is too long for the model. Clients then shorten the prompt.
 */

const LIMIT = /maximum context length is \d+ tokens/i
const ADVICE = /reduce the length of the messages/i

/** The first words of the gateway's refusal. */
export function limitWords(window: number): string {
  return `This model's maximum context length is ${window} tokens`
}

/** An upstream's own text, followed by the phrases that it lacks. */
export function tooLongWords(said: string, window: number | undefined): string {
  const parts = [/[.!?]\s*$/.test(said) ? said.trimEnd() : `${said}.`]
  const limit = window === undefined ? 'exceeded' : `${window} tokens`
  if (!LIMIT.test(said))
    parts.push(`The prompt is too long: this model's maximum context length is ${limit}.`)
  if (!ADVICE.test(said)) parts.push('Please reduce the length of the messages.')
  return parts.length === 1 ? said : parts.join(' ')
}
