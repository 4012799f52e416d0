/** The smallest prompt that each Claude keeps in a cache. */
import type { Cacheable } from '../../wire/provider-facts.ts'

/** The largest of them, for a model that is not in the table. */
const UNKNOWN: Cacheable = { from: 4_096 }

/**
 * The first that matches. All rows: 2026-11-26,
 * https://platform.claude.com/docs/en/build-with-claude/prompt-caching#cache-limitations, which holds on every platform;
 * the third generation as the page had it until its end.
 */
const SIZES: readonly (readonly [of: RegExp, size: Cacheable | undefined])[] = [
  [/^claude-(?:instant|2)/, undefined],
  [/^claude-(?:3-haiku|3-5-haiku)/, { from: 2_048 }],
  [/^claude-3-/, { from: 1_024 }],
  [/^claude-(?:opus|fable|mythos)-5/, { from: 512 }],
  [/^claude-sonnet-(?:4|5)(?:-|$)/, { from: 1_024 }],
  [/^claude-opus-4(?:-[018])?(?:-20\d{6}|-latest|$)/, { from: 1_024 }],
  [/^claude-(?:opus-4-7|mythos-preview)/, { from: 2_048 }],
  [/^claude-(?:opus-4-[56]|haiku-4-5)/, { from: 4_096 }],
  [/^/, UNKNOWN],
]

/** undefined for a model without a cache. */
export function cacheable(model: string): Cacheable | undefined {
  return SIZES.find(([of]) => of.test(model))?.[1]
}
