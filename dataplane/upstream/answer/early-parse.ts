/** Parses an answer of megabytes in steps before it is read: in one go it would hold up everybody else. */
import { AT_ONCE_BYTES_MAX } from '../../base/heavy-work.ts'
import { inSteps } from '../../base/steps.ts'
import { parseInPieces } from '../../body/pieces.ts'
import { valuesMaxOf } from '../../json/bounds.ts'
import { MembersError, MembersScan, PIECE_BYTES } from '../../json/members.ts'
import { OPEN_BRACE } from '../../json/tokens.ts'
import { keepParsed } from '../../json/values.ts'

/** How far the search for its parts goes without looking at the time. */
const SCAN_BYTES = 65_536

/** undefined if there is nothing to wait for. Once it has resolved, `parsedBytes` has the value. */
export function parseEarly(bytes: Buffer, valuesMax = valuesMaxOf(0)): Promise<void> | undefined {
  if (bytes.length <= AT_ONCE_BYTES_MAX || bytes[0] !== OPEN_BRACE) return undefined
  return inSteps(parsing(bytes, valuesMax)).then((value) => keepParsed(bytes, value))
}

/** The value; undefined if the bytes are no JSON object within the bounds. Yields where it may be interrupted. */
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
