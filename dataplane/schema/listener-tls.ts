/** `gw.gateway.tls`: the certificate of the gateway, and the certificates that clients must present. */
import { z } from 'zod'
import { tlsVersion } from './fields.ts'

/** Room for a certificate with its chain, or for old and new authorities together. */
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
      'Whether clients must present a certificate signed by client_ca; request refuses only invalid ones. ' +
        'Absent: require if client_ca is set, else none.',
    ),
  min_version: tlsVersion(),
})
