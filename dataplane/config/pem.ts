/** Certificates and keys in PEM form. An error never repeats what they hold. */
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'

const PEM_CERTIFICATE =
  /-----BEGIN (?:TRUSTED |X509 )?CERTIFICATE-----[\s\S]*?-----END (?:TRUSTED |X509 )?CERTIFICATE-----/g

/** All certificates of a PEM text; throws what the text is or does if there are none to use. */
export function certificatesOf(text: string): X509Certificate[] {
  const blocks = text.match(PEM_CERTIFICATE) ?? []
  if (blocks.length === 0) throw new Error('holds no PEM certificate')
  return blocks.map((block, index) => {
    try {
      return new X509Certificate(block)
    } catch {
      throw new Error(`holds a certificate that cannot be read (number ${index + 1} in it)`)
    }
  })
}

export function keyOf(text: string): KeyObject {
  if (!/-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(text)) throw new Error('holds no PEM private key')
  if (/ENCRYPTED/.test(text)) throw new Error('is encrypted, and its password cannot be asked for')
  try {
    return createPrivateKey(text)
  } catch {
    throw new Error('holds a private key that cannot be read')
  }
}
