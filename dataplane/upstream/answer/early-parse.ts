/** Parses an answer of megabytes in steps, because parsing it at once would delay all other requests. */
import { AT_ONCE_BYTES_MAX } from '../../base/heavy-work.ts'
import { inSteps } from '../../base/steps.ts'
import { parseInPieces } from '../../body/pieces.ts'
import { valuesMaxOf } from '../../json/bounds.ts'
import { MembersError, MembersScan, PIECE_BYTES } from '../../json/members.ts'
import { OPEN_BRACE } from '../../json/tokens.ts'
import { keepParsed } from '../../json/values.ts'

/** Bytes that are searched between two looks at the clock. */
const SCAN_BYTES = 65_536

/** undefined if parsing needs no steps. After the promise resolves, `parsedBytes` returns the value. */
export function parseEarly(bytes: Buffer, valuesMax = valuesMaxOf(0)): Promise<void> | undefined {
  if (bytes.length <= AT_ONCE_BYTES_MAX || bytes[0] !== OPEN_BRACE) return undefined
  return inSteps(parsing(bytes, valuesMax)).then((value) => keepParsed(bytes, value))
}

/** The value; undefined if the bytes are no JSON object within the bounds. Yields at points where it may be interrupted. */
export function* parsing(bytes: Buffer, valuesMax: number): Generator<undefined, unknown> {
  try {
    const scan = new MembersScan(bytes, PIECE_BYTES, valuesMax)
    for (let until = SCAN_BYTES; !scan.run(until); until += SCAN_BYTES) yield
    return yield* parseInPieces(bytes, scan, () => true)
  } catch (error) {
    if (error instanceof MembersError) return undefined
    throw error
  }
}
