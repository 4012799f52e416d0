/** Shortens user names, whose length OpenAI limits: a digest replaces a longer name, always the same one. */
import { hash } from 'node:crypto'

const LENGTH_MAX = 64
const NAMES = ['user', 'safety_identifier', 'prompt_cache_key'] as const

/** New values of the members that are too long. */
export function shortNames(body: Readonly<Record<string, unknown>>): Record<string, string> {
  const short: Record<string, string> = {}
  for (const name of NAMES) {
    const value = body[name]
    if (typeof value === 'string' && value.length > LENGTH_MAX) short[name] = hash('sha256', value)
  }
  return short
}
