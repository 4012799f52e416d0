/** Finds and parses the members of an object of megabytes in steps. */
import { MembersError, MembersScan, PIECE_BYTES } from '../members.ts'
import { type PiecesOptions, parseInPieces } from './pieces.ts'

/** Bytes to search between two checks of the clock. */
const SCAN_BYTES = 65_536

/** The value; undefined if the bytes are not a JSON object within the bounds. Yields where other work may run. */
export function* parsing(
  bytes: Buffer,
  valuesMax: number,
  options?: PiecesOptions,
): Generator<undefined, unknown> {
  try {
    const scan = new MembersScan(bytes, PIECE_BYTES, valuesMax)
    for (let until = SCAN_BYTES; !scan.run(until); until += SCAN_BYTES) yield
    return yield* parseInPieces(bytes, scan, options)
  } catch (error) {
    if (error instanceof MembersError) return undefined
    throw error
  }
}
