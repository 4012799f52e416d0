/** The encodings of texts into tokens that are bundled, by the names that their makers published. */
export const ENCODINGS = ['o200k_base', 'cl100k_base'] as const

export type Encoding = (typeof ENCODINGS)[number]
