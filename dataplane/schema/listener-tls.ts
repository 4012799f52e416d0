/** `gw.gateway.tls`: the certificate that clients see, and the certificates that they have to show. */
import { z } from 'zod'
import { tlsVersion } from './fields.ts'

/** A certificate with its chain, or the authorities of an overlap. */
const PEM_LENGTH_MAX = 65_536

const pem = () => z.string().min(1).max(PEM_LENGTH_MAX)

export const ListenerTls = z.strictObject({
  cert: pem().describe(
    'Certificate, followed by its intermediate ones, as ${secret:NAME/tls.crt} or ${file:PATH}.',
  ),
  key: pem().describe('Its private key, as ${secret:NAME/tls.key} or ${file:PATH}.'),
  client_ca: pem()
    .optional()
    .describe(
      'Authorities that sign the certificates of clients, as ${secret:NAME/ca.crt} or ${file:PATH}.',
    ),
  client_auth: z
    .enum(['none', 'request', 'require'])
    .optional()
    .describe(
      'Whether clients show a certificate of client_ca; request refuses bad ones only. ' +
        'Absent: require where client_ca is written, else none.',
    ),
  min_version: tlsVersion(),
})
