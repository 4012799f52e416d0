/** Extras of an API beside the model's tokens, by their names in `upstreams[].allow`. */

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

/** Extras of OpenAI's API, on any host. */
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

/** An extra in a request. */
export interface AskedExtra {
  readonly extra: Extra
  /** The member of the body, or the path of it. */
  readonly param: string
}
