/** Answers to the gateway's own questions: read whole, up to a bound. */

/** Throws `tooLarge` if the body exceeds the bound. */
export async function readBounded(
  body: AsyncIterable<Buffer>,
  bytesMax: number,
  tooLarge: string,
): Promise<Buffer> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of body) {
    bytes += chunk.length
    if (bytes > bytesMax) throw new Error(tooLarge)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
