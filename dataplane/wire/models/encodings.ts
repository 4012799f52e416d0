/** The bundled token encodings, by their published names. */
export const ENCODINGS = ['o200k_base', 'cl100k_base'] as const

export type Encoding = (typeof ENCODINGS)[number]
