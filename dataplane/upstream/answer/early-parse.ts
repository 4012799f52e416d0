/** Parses an answer of megabytes in steps, because parsing it at once would delay all other requests. */
import { AT_ONCE_BYTES_MAX } from '../../base/heavy-work.ts'
import { inSteps } from '../../base/steps.ts'
import { valuesMaxOf } from '../../json/bounds.ts'
import { parsing } from '../../json/steps/parsing.ts'
import { OPEN_BRACE } from '../../json/tokens.ts'
import { keepParsed } from '../../json/values.ts'

/** undefined if parsing needs no steps. After the promise resolves, `parsedBytes` returns the value. */
export function parseEarly(bytes: Buffer, valuesMax = valuesMaxOf(0)): Promise<void> | undefined {
  if (bytes.length <= AT_ONCE_BYTES_MAX || bytes[0] !== OPEN_BRACE) return undefined
  return inSteps(parsing(bytes, valuesMax)).then((value) => keepParsed(bytes, value))
}
