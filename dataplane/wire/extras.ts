/** Extras that clients may ask of an API beside the model's tokens, by the names that `upstreams[].allow` has for them. */

export const EXTRAS = [
  'code_execution',
  'file_search',
  'files',
  'image_generation',
  'inference_geo',
  'mcp',
  'other_tools',
  'service_tier',
  'speed',
  'store',
  'web_fetch',
  'web_search',
] as const
export type Extra = (typeof EXTRAS)[number]

/** Those of OpenAI's API, wherever it is hosted. */
export const OF_OPENAI: readonly Extra[] = [
  'code_execution',
  'file_search',
  'files',
  'image_generation',
  'mcp',
  'other_tools',
  'service_tier',
  'store',
  'web_search',
]

/** One of them as a request asks for it. */
export interface AskedExtra {
  readonly extra: Extra
  /** The member, or the place of it. */
  readonly param: string
}
