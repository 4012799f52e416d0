/** The error with which a client library ends a call. */
import assert from 'node:assert/strict'

/** `Kind` is the class of the library's errors. */
export async function sdkError<Kind extends Error>(
  asked: Promise<unknown>,
  Kind: abstract new (...values: never[]) => Kind,
): Promise<Kind> {
  const error = await asked.then(
    () => assert.fail('It was not refused.'),
    (reason: unknown) => reason,
  )
  assert.ok(error instanceof Kind, String(error))
  return error
}
