/** The prompts that Bedrock's models keep in a cache. */
import type { Cacheable } from '../../wire/provider-facts.ts'
import { cacheable as ofClaude } from '../anthropic/cacheable.ts'
import { namedIn } from './model-name.ts'

/** 2026-11-26, https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html. */
const OLD_CLAUDE = /^claude-(?:instant|3-(?:opus|sonnet|haiku|5-sonnet))/
const NOVA = /^nova-(?:micro|lite|pro|premier)$/
const OF_NOVA: Cacheable = { from: 1_000, to: 20_000 }

/** undefined for a model that takes no marks, and for one whose name does not say what it is. */
export function cacheable(model: string): Cacheable | undefined {
  const { name } = namedIn(model)
  if (name.startsWith('claude-')) return OLD_CLAUDE.test(name) ? undefined : ofClaude(name)
  return NOVA.test(name) ? OF_NOVA : undefined
}
