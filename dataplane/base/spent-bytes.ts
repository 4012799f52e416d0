/** Bytes that no code will read again. */

/**
 * Frees their memory now. The garbage collector runs for buffers once there are tens of megabytes of them, and stops
 * the process for up to 20 ms. The collector frees bytes that share their memory with others.
 */
export function giveBack(bytes: Buffer): void {
  const { buffer } = bytes
  if (buffer instanceof ArrayBuffer && buffer.byteLength === bytes.length) buffer.transfer(0)
}
