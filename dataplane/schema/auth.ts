/** `gw.auth`: callers without a key, known by a signed token or by a client certificate. */
import { z } from 'zod'
import { name, namePattern, text, url } from './fields.ts'
import { SCOPES } from './keys.ts'

/** Asymmetric algorithms only: a public key that verifies tokens cannot sign one. */
const ALGORITHMS = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA'],
] as const

const pointer = () =>
  z
    .string()
    .max(512)
    .regex(/^\/.+$/, 'must be a JSON pointer such as /sub or /kubernetes.io~1namespace')

const Claim = z.strictObject({ claim: pointer().describe('JSON pointer to the claim.') })

const Listed = Claim.extend({
  map: z
    .record(z.string().max(253), z.array(name()).max(256))
    .optional()
    .describe('Value of the claim to names; absent: the value is the name.'),
})

const Jwks = z.strictObject({
  url: url().optional().describe("The issuer's key set, fetched in the background."),
  file: text().optional().describe('A file with the key set, read again every five minutes.'),
  keys: z
    .array(z.record(z.string().max(64), text()))
    .min(1)
    .max(100)
    .optional()
    .describe('The public keys themselves.'),
  kubernetes: z
    .literal(true)
    .optional()
    .describe("The keys of the operator's cluster, which the operator delivers."),
})

export const JwtIssuer = z.strictObject({
  name: name().describe('Names the issuer in logs, metrics and status.'),
  issuer: text().describe('The claim `iss`, exactly.'),
  audiences: z
    .array(text())
    .min(1)
    .max(32)
    .describe('Accepted values of the claim `aud`; a token made for another service is refused.'),
  jwks: Jwks.describe('Where the public keys are.'),
  algorithms: z
    .array(z.enum(ALGORITHMS))
    .min(1)
    .max(ALGORITHMS.length)
    .default(['RS256', 'ES256', 'EdDSA'])
    .describe('Accepted signature algorithms.'),
  require: z
    .record(pointer(), z.array(text()).min(1).max(1024))
    .default({})
    .describe('Required claims by JSON pointer, with the accepted values of each.'),
  tenant: z
    .strictObject({
      name: name().optional().describe('One tenant for all tokens of the issuer.'),
      claim: pointer().optional().describe('JSON pointer to the claim with the tenant.'),
      map: z
        .record(z.string().max(253), name())
        .optional()
        .describe('The tenant of each value of the claim. If absent, the value names the tenant.'),
    })
    .describe('Tenant whose limits and budgets the tokens use.'),
  id: Claim.default({ claim: '/sub' }).describe('Names the caller in logs and traces.'),
  end_user: Claim.optional().describe(
    'Names the end user, for limits of each user and usage events.',
  ),
  routes: z
    .array(z.union([z.literal('*'), name(), namePattern()]))
    .min(1)
    .max(1024)
    .optional()
    .describe('Routes that these tokens may use; ["*"] means all.'),
  routes_from: Listed.optional().describe('Claim that lists the routes, instead of `routes`.'),
  scopes: z
    .array(z.enum(SCOPES))
    .min(1)
    .max(8)
    .default([...SCOPES])
    .describe('Permissions of these tokens; both if absent.'),
})

/** A URI or a host name. `/*` after a URI matches every path below, `*.` before a host name one label. */
const SAN =
  /^([a-z][a-z0-9+.-]*:\/\/[^\s*,"/][^\s*,"]*(\/\*)?|(\*\.)?[a-z0-9_]([a-z0-9_-]*[a-z0-9])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9])?)*)$/

const ClientCertificates = z.strictObject({
  name: name().describe('Names the entry.'),
  san: z
    .array(
      z
        .string()
        .max(2048)
        .regex(
          SAN,
          'must be a URI such as spiffe://cluster.local/ns/team-a/*, or a host such as *.team-a.example, in lower case',
        ),
    )
    .min(1)
    .max(256)
    .describe(
      'Accepted names in the certificate (URI or DNS); one match is enough. `/*` matches every path below, `*.` one label.',
    ),
  tenant: name().describe('Tenant whose limits and budgets the client uses.'),
  routes: z
    .array(z.union([z.literal('*'), name(), namePattern()]))
    .min(1)
    .max(1024)
    .optional()
    .describe('Routes that the client may use; all if absent.'),
  scopes: z
    .array(z.enum(SCOPES))
    .min(1)
    .max(8)
    .default([...SCOPES])
    .describe('Permissions of the client; both if absent.'),
})

export const Auth = z.strictObject({
  jwt: z
    .array(JwtIssuer)
    .max(16)
    .default([])
    .describe(
      'Issuers whose tokens clients may send instead of a key, as `Authorization: Bearer`.',
    ),
  certificates: z
    .array(ClientCertificates)
    .max(256)
    .default([])
    .describe(
      'Client certificates that the gateway accepts instead of a key; needs `gateway.tls.client_ca`.',
    ),
})

export type CertificateSettings = z.output<typeof ClientCertificates>

export type JwtSettings = z.output<typeof JwtIssuer>
